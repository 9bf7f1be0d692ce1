/* Names, numbers, iterations, versions, the clock and the thread; agents. None of it needs a tool. */
#include "sdk.h"

#include <time.h>

/* A place for a name that has something in it. */
static const char *name;
static uint64_t length;

static void reset(void)
{
    name = "something";
    length = 99;
}

static void check_name(const char *expected)
{
    CHECK(name != NULL && strcmp(name, expected) == 0 && length == strlen(expected));
    reset();
}

static void check_no_name(void)
{
    CHECK(name == NULL && length == 0);
    reset();
}

static const char *const BUFFERED[] = {
    "NONE", "HSA_CORE_API", "HSA_AMD_EXT_API", "HSA_IMAGE_EXT_API", "HSA_FINALIZE_EXT_API", "HIP_RUNTIME_API",
    "HIP_COMPILER_API", "MARKER_CORE_API", "MARKER_CONTROL_API", "MARKER_NAME_API", "MEMORY_COPY", "KERNEL_DISPATCH",
    "SCRATCH_MEMORY", "CORRELATION_ID_RETIREMENT", "RCCL_API", "OMPT", "MEMORY_ALLOCATION", "RUNTIME_INITIALIZATION",
    "ROCDECODE_API", "ROCJPEG_API", "HIP_STREAM", "HIP_RUNTIME_API_EXT", "HIP_COMPILER_API_EXT", "ROCDECODE_API_EXT",
    "KFD_EVENT_PAGE_MIGRATE", "KFD_EVENT_PAGE_FAULT", "KFD_EVENT_QUEUE", "KFD_EVENT_UNMAP_FROM_GPU",
    "KFD_EVENT_DROPPED_EVENTS", "KFD_PAGE_MIGRATE", "KFD_PAGE_FAULT", "KFD_QUEUE", "MARKER_CORE_RANGE_API"};

static const char *const CALLBACKS[] = {
    "NONE", "HSA_CORE_API", "HSA_AMD_EXT_API", "HSA_IMAGE_EXT_API", "HSA_FINALIZE_EXT_API", "HIP_RUNTIME_API",
    "HIP_COMPILER_API", "MARKER_CORE_API", "MARKER_CONTROL_API", "MARKER_NAME_API", "CODE_OBJECT", "SCRATCH_MEMORY",
    "KERNEL_DISPATCH", "MEMORY_COPY", "RCCL_API", "OMPT", "MEMORY_ALLOCATION", "RUNTIME_INITIALIZATION",
    "ROCDECODE_API",
    "ROCJPEG_API", "HIP_STREAM", "MARKER_CORE_RANGE_API"};

static const char *const REQUESTS[] = {
    "NONE", "HSA_CORE_API", "HSA_AMD_EXT_API", "HSA_IMAGE_EXT_API", "HSA_FINALIZE_EXT_API", "HIP_RUNTIME_API",
    "HIP_COMPILER_API", "MARKER_CORE_API", "MARKER_CONTROL_API", "MARKER_NAME_API", "MEMORY_COPY", "KERNEL_DISPATCH",
    "SCRATCH_MEMORY", "RCCL_API", "OMPT", "MEMORY_ALLOCATION", "ROCDECODE_API", "ROCJPEG_API", "MARKER_CORE_RANGE_API"};

static const char *const TABLES[] = {"HSA", "HIP (runtime)", "HIP (compiler)", "MARKER (ROCTx)",
                                     "MARKER (ROCTx Control)",
                                     "MARKER (ROCTx Name)", "RCCL", "rocDecode", "rocJPEG"};

/* The operations of the kinds that have names, by the name of the kind. */
static const struct {
    const char *kind;
    const char *operations[8];
} OPERATIONS[] = {
    {"MARKER_CORE_API",
     {"roctxMarkA", "roctxRangePushA", "roctxRangePop", "roctxRangeStartA", "roctxRangeStop", "roctxGetThreadId"}},
    {"MARKER_CONTROL_API", {"roctxProfilerPause", "roctxProfilerResume"}},
    {"MARKER_NAME_API", {"roctxNameOsThread", "roctxNameHsaAgent", "roctxNameHipDevice", "roctxNameHipStream"}},
    {"MARKER_CORE_RANGE_API", {"roctxMarkA", "roctxThreadRangeA", "roctxProcessRangeA", "roctxGetThreadId"}},
    {"MEMORY_COPY",
     {"MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_HOST",
      "MEMORY_COPY_DEVICE_TO_DEVICE"}},
    {"MEMORY_ALLOCATION",
     {"MEMORY_ALLOCATION_NONE", "MEMORY_ALLOCATION_ALLOCATE", "MEMORY_ALLOCATION_VMEM_ALLOCATE",
      "MEMORY_ALLOCATION_FREE", "MEMORY_ALLOCATION_VMEM_FREE"}},
    {"KERNEL_DISPATCH", {"KERNEL_DISPATCH_NONE", "KERNEL_DISPATCH_ENQUEUE", "KERNEL_DISPATCH_COMPLETE"}},
    {"SCRATCH_MEMORY",
     {"SCRATCH_MEMORY_NONE", "SCRATCH_MEMORY_ALLOC", "SCRATCH_MEMORY_FREE", "SCRATCH_MEMORY_ASYNC_RECLAIM"}},
    {"CODE_OBJECT",
     {"CODE_OBJECT_NONE", "CODE_OBJECT_LOAD", "CODE_OBJECT_DEVICE_KERNEL_SYMBOL_REGISTER",
      "CODE_OBJECT_HOST_KERNEL_SYMBOL_REGISTER"}},
    {"RUNTIME_INITIALIZATION",
     {"RUNTIME_INITIALIZATION_NONE", "RUNTIME_INITIALIZATION_HSA", "RUNTIME_INITIALIZATION_HIP",
      "RUNTIME_INITIALIZATION_MARKER", "RUNTIME_INITIALIZATION_RCCL", "RUNTIME_INITIALIZATION_ROCDECODE",
      "RUNTIME_INITIALIZATION_ROCJPEG"}},
    {"HIP_STREAM", {"HIP_STREAM_NONE", "HIP_STREAM_CREATE", "HIP_STREAM_DESTROY", "HIP_STREAM_SET"}},
};

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

/* Returns the operations of a kind, which end with NULL. */
static const char *const *operations_of(const char *kind)
{
    static const char *const none[1] = {NULL};
    for (int i = 0; i < COUNT(OPERATIONS); i++)
        if (strcmp(OPERATIONS[i].kind, kind) == 0)
            return OPERATIONS[i].operations;
    return none;
}

static int visited, stop_after;

static int visit_buffered(rocprofiler_buffer_tracing_kind_t kind, void *data)
{
    CHECK(data == (void *)&visited && (int)kind == visited);
    return ++visited == stop_after ? 5 : 0;
}

static int visit_callback(rocprofiler_callback_tracing_kind_t kind, void *data)
{
    CHECK(data == (void *)&visited && (int)kind == visited);
    return ++visited == stop_after ? -5 : 0;
}

static int visit_buffered_operation(rocprofiler_buffer_tracing_kind_t kind, rocprofiler_tracing_operation_t operation,
                                    void *data)
{
    (void)kind;
    CHECK(data == (void *)&visited && operation == visited);
    return ++visited == stop_after ? 5 : 0;
}

static int visit_callback_operation(rocprofiler_callback_tracing_kind_t kind, rocprofiler_tracing_operation_t operation,
                                    void *data)
{
    (void)kind;
    CHECK(data == (void *)&visited && operation == visited);
    return ++visited == stop_after ? 5 : 0;
}

static void check_visited(int expected)
{
    CHECK(visited == expected);
    visited = stop_after = 0;
}

static void check_buffered(void)
{
    CHECK(COUNT(BUFFERED) == ROCPROFILER_BUFFER_TRACING_LAST && COUNT(BUFFERED) == 33);
    for (int i = 0; i < COUNT(BUFFERED); i++) {
        rocprofiler_buffer_tracing_kind_t kind = (rocprofiler_buffer_tracing_kind_t)i;
        OK(rocprofiler_query_buffer_tracing_kind_name(kind, &name, &length));
        check_name(BUFFERED[i]);
        if (kind == ROCPROFILER_BUFFER_TRACING_NONE) {
            ANSWERS(ERROR_INVALID_ARGUMENT,
                    rocprofiler_query_buffer_tracing_kind_operation_name(kind, 0, &name, &length));
            ANSWERS(ERROR_INVALID_ARGUMENT,
                    rocprofiler_iterate_buffer_tracing_kind_operations(kind, visit_buffered_operation, &visited));
            continue;
        }
        if (kind == ROCPROFILER_BUFFER_TRACING_CORRELATION_ID_RETIREMENT) {
            ANSWERS(ERROR_NOT_IMPLEMENTED,
                    rocprofiler_query_buffer_tracing_kind_operation_name(kind, 0, &name, &length));
            ANSWERS(ERROR_NOT_IMPLEMENTED,
                    rocprofiler_iterate_buffer_tracing_kind_operations(kind, visit_buffered_operation, &visited));
            continue;
        }
        const char *const *operations = operations_of(BUFFERED[i]);
        int count = 0;
        for (; operations[count] != NULL; count++) {
            OK(rocprofiler_query_buffer_tracing_kind_operation_name(kind, count, &name, &length));
            check_name(operations[count]);
        }
        const int32_t unknown[3] = {count, -1, 512};
        for (int j = 0; j < 3; j++) {
            ANSWERS(ERROR_OPERATION_NOT_FOUND,
                    rocprofiler_query_buffer_tracing_kind_operation_name(kind, unknown[j], &name, &length));
            check_no_name();
        }
        OK(rocprofiler_iterate_buffer_tracing_kind_operations(kind, visit_buffered_operation, &visited));
        check_visited(count);
        if (count > 0) {
            stop_after = 1;
            OK(rocprofiler_iterate_buffer_tracing_kind_operations(kind, visit_buffered_operation, &visited));
            check_visited(1);
        }
    }
    const int unknown[3] = {33, 1000, -1};
    for (int i = 0; i < 3; i++) {
        rocprofiler_buffer_tracing_kind_t kind = (rocprofiler_buffer_tracing_kind_t)unknown[i];
        ANSWERS(ERROR_KIND_NOT_FOUND, rocprofiler_query_buffer_tracing_kind_name(kind, &name, &length));
        check_no_name();
        ANSWERS(ERROR_KIND_NOT_FOUND,
                rocprofiler_query_buffer_tracing_kind_operation_name(kind, 0, &name, &length));
        rocprofiler_status_t status =
            rocprofiler_iterate_buffer_tracing_kind_operations(kind, visit_buffered_operation, &visited);
        CHECK(status == (i == 0 ? ROCPROFILER_STATUS_ERROR_INVALID_ARGUMENT : ROCPROFILER_STATUS_SUCCESS));
        check_visited(0);
    }
    OK(rocprofiler_query_buffer_tracing_kind_name(ROCPROFILER_BUFFER_TRACING_OMPT, NULL, NULL));
    OK(rocprofiler_query_buffer_tracing_kind_operation_name(ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API, 0, NULL, NULL));
    OK(rocprofiler_iterate_buffer_tracing_kinds(visit_buffered, &visited));
    check_visited(33);
    stop_after = 4;
    OK(rocprofiler_iterate_buffer_tracing_kinds(visit_buffered, &visited));
    check_visited(4);
    ANSWERS(ERROR_INVALID_ARGUMENT, rocprofiler_iterate_buffer_tracing_kinds(NULL, NULL));
    ANSWERS(ERROR_INVALID_ARGUMENT, rocprofiler_iterate_buffer_tracing_kind_operations(
                                        ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API, NULL, NULL));
}

static void check_callbacks(void)
{
    CHECK(COUNT(CALLBACKS) == ROCPROFILER_CALLBACK_TRACING_LAST && COUNT(CALLBACKS) == 22);
    for (int i = 0; i < COUNT(CALLBACKS); i++) {
        rocprofiler_callback_tracing_kind_t kind = (rocprofiler_callback_tracing_kind_t)i;
        OK(rocprofiler_query_callback_tracing_kind_name(kind, &name, &length));
        check_name(CALLBACKS[i]);
        if (kind == ROCPROFILER_CALLBACK_TRACING_NONE) {
            ANSWERS(ERROR_INVALID_ARGUMENT,
                    rocprofiler_query_callback_tracing_kind_operation_name(kind, 0, &name, &length));
            ANSWERS(ERROR_INVALID_ARGUMENT,
                    rocprofiler_iterate_callback_tracing_kind_operations(kind, visit_callback_operation, &visited));
            continue;
        }
        const char *const *operations = operations_of(CALLBACKS[i]);
        int count = 0;
        for (; operations[count] != NULL; count++) {
            OK(rocprofiler_query_callback_tracing_kind_operation_name(kind, count, &name, &length));
            check_name(operations[count]);
        }
        const int32_t unknown[3] = {count, -1, 512};
        for (int j = 0; j < 3; j++) {
            ANSWERS(ERROR_OPERATION_NOT_FOUND,
                    rocprofiler_query_callback_tracing_kind_operation_name(kind, unknown[j], &name, &length));
            check_no_name();
        }
        OK(rocprofiler_iterate_callback_tracing_kind_operations(kind, visit_callback_operation, &visited));
        check_visited(count);
    }
    const int unknown[3] = {22, 1000, -1};
    for (int i = 0; i < 3; i++) {
        rocprofiler_callback_tracing_kind_t kind = (rocprofiler_callback_tracing_kind_t)unknown[i];
        ANSWERS(ERROR_KIND_NOT_FOUND, rocprofiler_query_callback_tracing_kind_name(kind, &name, &length));
        check_no_name();
        ANSWERS(ERROR_KIND_NOT_FOUND,
                rocprofiler_query_callback_tracing_kind_operation_name(kind, 0, &name, &length));
        CHECK(strcmp(name, "something") == 0 && length == 99);
        rocprofiler_status_t status =
            rocprofiler_iterate_callback_tracing_kind_operations(kind, visit_callback_operation, &visited);
        CHECK(status == (i == 0 ? ROCPROFILER_STATUS_ERROR_INVALID_ARGUMENT : ROCPROFILER_STATUS_SUCCESS));
        check_visited(0);
    }
    OK(rocprofiler_iterate_callback_tracing_kinds(visit_callback, &visited));
    check_visited(22);
    stop_after = 2;
    OK(rocprofiler_iterate_callback_tracing_kinds(visit_callback, &visited));
    check_visited(2);
    ANSWERS(ERROR_INVALID_ARGUMENT, rocprofiler_iterate_callback_tracing_kinds(NULL, NULL));
}

static void check_requests_and_tables(void)
{
    for (int i = 0; i < COUNT(REQUESTS); i++) {
        OK(rocprofiler_query_external_correlation_id_request_kind_name(
            (rocprofiler_external_correlation_id_request_kind_t)i, &name, &length));
        check_name(REQUESTS[i]);
    }
    const int unknown[2] = {ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_LAST, -1};
    for (int i = 0; i < 2; i++) {
        ANSWERS(ERROR_KIND_NOT_FOUND,
                rocprofiler_query_external_correlation_id_request_kind_name(
                    (rocprofiler_external_correlation_id_request_kind_t)unknown[i], &name, &length));
        check_no_name();
    }
    for (int i = 0; i < COUNT(TABLES); i++) {
        OK(rocprofiler_query_intercept_table_name((rocprofiler_intercept_table_t)(1 << i), &name, &length));
        check_name(TABLES[i]);
    }
    const int not_one_bit[5] = {0, 3, 8 | 16, 512, -1};
    for (int i = 0; i < 5; i++) {
        ANSWERS(ERROR_KIND_NOT_FOUND, rocprofiler_query_intercept_table_name(
                                          (rocprofiler_intercept_table_t)not_one_bit[i], &name, &length));
        check_no_name();
    }
}

static void check_statuses(void)
{
    for (int i = 0; i < ROCPROFILER_STATUS_LAST; i++) {
        const char *text = rocprofiler_get_status_string((rocprofiler_status_t)i);
        const char *status = rocprofiler_get_status_name((rocprofiler_status_t)i);
        CHECK(status != NULL && strncmp(status, "ROCPROFILER_STATUS_", 19) == 0);
        CHECK(text != NULL && (i == 0 || strlen(text) >= 8));
        for (int j = 0; j < i; j++)
            CHECK(strcmp(status, rocprofiler_get_status_name((rocprofiler_status_t)j)) != 0);
    }
    CHECK(strcmp(rocprofiler_get_status_string(ROCPROFILER_STATUS_SUCCESS), "Success") == 0);
#define NAMED(status) CHECK(strcmp(rocprofiler_get_status_name(ROCPROFILER_##status), "ROCPROFILER_" #status) == 0)
    NAMED(STATUS_SUCCESS);
    NAMED(STATUS_ERROR);
    NAMED(STATUS_ERROR_CONTEXT_ID_NOT_ZERO);
    NAMED(STATUS_ERROR_BUFFER_BUSY);
    NAMED(STATUS_ERROR_FINALIZED);
    NAMED(STATUS_INTERNAL_NO_AGENT_CONTEXT);
    NAMED(STATUS_ERROR_PERMISSION_DENIED);
    CHECK(rocprofiler_get_status_name(ROCPROFILER_STATUS_LAST) == NULL);
    CHECK(rocprofiler_get_status_string(ROCPROFILER_STATUS_LAST) == NULL);
    CHECK(rocprofiler_get_status_name((rocprofiler_status_t)-1) == NULL);
    CHECK(rocprofiler_get_status_string((rocprofiler_status_t)-1) == NULL);
}

static uint64_t boot_time(void)
{
    struct timespec time;
    CHECK(clock_gettime(CLOCK_BOOTTIME, &time) == 0);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void *thread_of(void *to)
{
    OK(rocprofiler_get_thread_id((rocprofiler_thread_id_t *)to));
    CHECK(*(uint64_t *)to == own_thread());
    return NULL;
}

static void check_version_time_and_thread(void)
{
    uint32_t major = 9, minor = 9, patch = 9;
    rocprofiler_version_triplet_t version = {9, 9, 9};
    OK(rocprofiler_get_version(&major, &minor, &patch));
    CHECK(major == 1 && minor == 0 && patch == 0);
    minor = 9;
    OK(rocprofiler_get_version(NULL, &minor, NULL));
    CHECK(minor == 0);
    OK(rocprofiler_get_version(NULL, NULL, NULL));
    OK(rocprofiler_get_version_triplet(&version));
    CHECK(version.major == 1 && version.minor == 0 && version.patch == 0);

    uint64_t before = boot_time(), time = now(), after = boot_time();
    CHECK(before <= time + 100000 && time <= after + 100000);

    uint64_t first = 0, second = 0;
    pthread_t thread;
    thread_of(&first);
    CHECK(first == (uint64_t)getpid());
    CHECK(pthread_create(&thread, NULL, thread_of, &second) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(second != first);
}

static const rocprofiler_agent_t *agents[2];

static rocprofiler_status_t get_agents(rocprofiler_agent_version_t version, const void **found, size_t count,
                                       void *data)
{
    CHECK(version == ROCPROFILER_AGENT_INFO_VERSION_0 && data == (void *)agents && count == 2);
    for (size_t i = 0; i < count; i++)
        agents[i] = (const rocprofiler_agent_t *)found[i];
    return ROCPROFILER_STATUS_SUCCESS;
}

static rocprofiler_status_t refuse_agents(rocprofiler_agent_version_t version, const void **found, size_t count,
                                          void *data)
{
    (void)version, (void)found, (void)count;
    ++*(int *)data;
    return ROCPROFILER_STATUS_ERROR_PERMISSION_DENIED;
}

static rocprofiler_status_t no_counters(rocprofiler_agent_id_t agent, rocprofiler_counter_id_t *counters, size_t count,
                                        void *data)
{
    (void)agent, (void)counters, (void)count, (void)data;
    CHECK(!"a counter");
    return ROCPROFILER_STATUS_ERROR;
}

static void check_agents(void)
{
    const rocprofiler_agent_version_t version = ROCPROFILER_AGENT_INFO_VERSION_0;
    OK(rocprofiler_query_available_agents(version, get_agents, sizeof(rocprofiler_agent_t), agents));
    const rocprofiler_agent_t *cpu = agents[0], *gpu = agents[1];
    for (int i = 0; i < 2; i++) {
        const rocprofiler_agent_t *agent = agents[i];
        CHECK(agent->size == 312 && agent->id.handle != 0);
        CHECK(agent->node_id == (uint32_t)i && agent->logical_node_id == i && agent->logical_node_type_id == 0);
        CHECK(agent->num_xcc == 1 && agent->cu_count > 0);
        CHECK(agent->name[0] != '\0' && agent->vendor_name[0] != '\0' && agent->product_name[0] != '\0');
        CHECK(agent->model_name != NULL && strncmp(agent->name, "gfx", 3) != 0);
        CHECK((agent->mem_banks_count > 0) == (agent->mem_banks != NULL));
        CHECK((agent->caches_count > 0) == (agent->caches != NULL));
        CHECK((agent->io_links_count > 0) == (agent->io_links != NULL));
    }
    CHECK(cpu->type == ROCPROFILER_AGENT_TYPE_CPU && gpu->type == ROCPROFILER_AGENT_TYPE_GPU);
    CHECK(cpu->id.handle != gpu->id.handle);
    CHECK(cpu->cpu_cores_count > 0 && cpu->cu_count == cpu->cpu_cores_count && cpu->simd_count == 0);
    CHECK(cpu->gpu_id == 0 && strcmp(cpu->vendor_name, "CPU") == 0);
    CHECK(gpu->simd_count == gpu->cu_count && gpu->simd_per_cu == 1 && gpu->wave_front_size >= 4);
    CHECK(gpu->max_waves_per_simd == 1 && gpu->gpu_id != 0 && gpu->workgroup_max_size == 1024);
    CHECK(gpu->gfx_target_version == 0 && gpu->local_mem_size > 0 && gpu->mem_banks_count == 1);
    CHECK(gpu->mem_banks[0].size_in_bytes == gpu->local_mem_size);
    CHECK(gpu->grid_max_dim.y == 65535 && gpu->workgroup_max_dim.x == 1024);

    /* They stay at their addresses. A tool may know a shorter structure. */
    const rocprofiler_agent_t *first = cpu;
    OK(rocprofiler_query_available_agents(version, get_agents, 0, agents));
    OK(rocprofiler_query_available_agents(version, get_agents, 296, agents));
    CHECK(agents[0] == first);
    int calls = 0;
    ANSWERS(ERROR_PERMISSION_DENIED, rocprofiler_query_available_agents(version, refuse_agents, 312, &calls));
    CHECK(calls == 1);
    ANSWERS(ERROR_INCOMPATIBLE_ABI, rocprofiler_query_available_agents(version, refuse_agents, 313, &calls));
    ANSWERS(ERROR_INVALID_ARGUMENT,
            rocprofiler_query_available_agents(ROCPROFILER_AGENT_INFO_VERSION_NONE, refuse_agents, 312, &calls));
    ANSWERS(ERROR_INVALID_ARGUMENT,
            rocprofiler_query_available_agents(ROCPROFILER_AGENT_INFO_VERSION_LAST, refuse_agents, 312, &calls));
    ANSWERS(ERROR_INVALID_ARGUMENT, rocprofiler_query_available_agents(version, NULL, 312, NULL));
    CHECK(calls == 1);

    const rocprofiler_agent_id_t unknown = {1};
    ANSWERS(ERROR_AGENT_ARCH_NOT_SUPPORTED, rocprofiler_iterate_agent_supported_counters(gpu->id, no_counters, NULL));
    ANSWERS(ERROR_AGENT_ARCH_NOT_SUPPORTED, rocprofiler_iterate_agent_supported_counters(cpu->id, no_counters, NULL));
    ANSWERS(ERROR_AGENT_NOT_FOUND, rocprofiler_iterate_agent_supported_counters(unknown, no_counters, NULL));
}

static int no_argument(rocprofiler_buffer_tracing_kind_t kind, rocprofiler_tracing_operation_t operation,
                       uint32_t number,
                       const void *const value, int32_t indirections, const char *type, const char *argument,
                       const char *text, void *data)
{
    (void)kind, (void)operation, (void)number, (void)value, (void)indirections, (void)type, (void)argument, (void)text;
    (void)data;
    CHECK(!"an argument");
    return 0;
}

/* Only the records with arguments, which do not exist here, are iterated. */
static void check_record_arguments(void)
{
    for (uint32_t kind = 0; kind <= ROCPROFILER_BUFFER_TRACING_LAST; kind++) {
        rocprofiler_record_header_t header;
        memset(&header, 0, sizeof header);
        header.category = ROCPROFILER_BUFFER_CATEGORY_TRACING;
        header.kind = kind;
        rocprofiler_status_t status = rocprofiler_iterate_buffer_tracing_record_args(header, no_argument, NULL);
        if (kind == ROCPROFILER_BUFFER_TRACING_NONE || kind == ROCPROFILER_BUFFER_TRACING_LAST)
            CHECK(status == ROCPROFILER_STATUS_ERROR_INVALID_ARGUMENT);
        else if (kind == ROCPROFILER_BUFFER_TRACING_HIP_RUNTIME_API_EXT ||
                 kind == ROCPROFILER_BUFFER_TRACING_HIP_COMPILER_API_EXT ||
                 kind == ROCPROFILER_BUFFER_TRACING_ROCDECODE_API_EXT)
            CHECK(status == ROCPROFILER_STATUS_SUCCESS);
        else
            CHECK(status == ROCPROFILER_STATUS_ERROR_NOT_IMPLEMENTED);
    }
}

int main(void)
{
    reset();
    check_buffered();
    check_callbacks();
    check_requests_and_tables();
    check_statuses();
    check_version_time_and_thread();
    check_agents();
    check_record_arguments();
    CHECK(initialized() == 0 && finalized() == 0);
    return 0;
}
