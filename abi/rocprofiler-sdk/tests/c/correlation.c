/* External correlation ids: stacks for each context and thread, and requests. */
static void make_services(void);
#define TOOL_INITIALIZE make_services
#include "tool.h"

typedef struct {
    rocprofiler_context_id_t context;
    rocprofiler_buffer_id_t buffer;
    uint64_t external[64], internal[64];
    size_t count;
} kept_t;

static kept_t first, second, asked, all_asked, nested;

static void keep(rocprofiler_context_id_t context, rocprofiler_buffer_id_t buffer,
                 rocprofiler_record_header_t **headers,
                 size_t count, void *data, uint64_t drop_count)
{
    kept_t *kept = (kept_t *)data;
    (void)context, (void)buffer, (void)drop_count;
    for (size_t i = 0; i < count; i++) {
        const rocprofiler_buffer_tracing_marker_api_record_t *record =
            (const rocprofiler_buffer_tracing_marker_api_record_t *)headers[i]->payload;
        CHECK(kept->count < 64);
        kept->internal[kept->count] = record->correlation_id.internal;
        kept->external[kept->count++] = record->correlation_id.external.value;
    }
}

static void push(const kept_t *kept, uint64_t thread, uint64_t value)
{
    rocprofiler_user_data_t external;
    external.value = value;
    OK(rocprofiler_push_external_correlation_id(kept->context, thread, external));
}

static uint64_t pop(const kept_t *kept, uint64_t thread)
{
    rocprofiler_user_data_t external;
    external.value = 77;
    OK(rocprofiler_pop_external_correlation_id(kept->context, thread, &external));
    return external.value;
}

/* A tool may push in ENTER: the record has it, and EXIT sees it. */
static uint64_t seen_at_exit;

static void push_at_enter(rocprofiler_callback_tracing_record_t record, rocprofiler_user_data_t *user_data, void *data)
{
    (void)user_data, (void)data;
    if (record.phase == ROCPROFILER_CALLBACK_PHASE_ENTER) {
        push(&first, record.thread_id, 1000);
    } else {
        seen_at_exit = record.correlation_id.external.value;
        CHECK(pop(&first, record.thread_id) == 1000);
    }
}

static int answer;
static uint64_t last_internal;
static int32_t last_kind, last_operation;

static int request(rocprofiler_thread_id_t thread, rocprofiler_context_id_t context,
                   rocprofiler_external_correlation_id_request_kind_t kind, rocprofiler_tracing_operation_t operation,
                   uint64_t internal, rocprofiler_user_data_t *external, void *data)
{
    const kept_t *kept = (const kept_t *)data;
    CHECK(thread == own_thread() && context.handle == kept->context.handle);
    CHECK(internal > 0 && external->value == 0);
    last_internal = internal;
    last_kind = (int32_t)kind;
    last_operation = operation;
    external->value = 5000 + (uint64_t)operation;
    return answer;
}

static int nested_requests;

/* A request that makes the call that it is asked for. */
static int call_in_request(rocprofiler_thread_id_t thread, rocprofiler_context_id_t context,
                           rocprofiler_external_correlation_id_request_kind_t kind,
                           rocprofiler_tracing_operation_t operation, uint64_t internal,
                           rocprofiler_user_data_t *external, void *data)
{
    (void)thread, (void)context, (void)kind, (void)operation, (void)data;
    nested_requests++;
    roctxMarkA("in a request");
    external->value = internal;
    return 0;
}

static void make(kept_t *kept)
{
    kept->context = new_context();
    kept->buffer =
        new_buffer(kept->context, 1 << 16, 1 << 16, ROCPROFILER_BUFFER_POLICY_LOSSLESS, keep, kept);
    OK(rocprofiler_configure_buffer_tracing_service(kept->context, ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API, NULL, 0,
                                                    kept->buffer));
    OK(rocprofiler_configure_buffer_tracing_service(kept->context, ROCPROFILER_BUFFER_TRACING_MARKER_NAME_API, NULL, 0,
                                                    kept->buffer));
}

static void make_services(void)
{
    const rocprofiler_tracing_operation_t start[1] = {ROCPROFILER_MARKER_CORE_API_ID_roctxRangeStartA};
    const rocprofiler_external_correlation_id_request_kind_t core[1] = {
        ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_MARKER_CORE_API};
    make(&first);
    make(&second);
    make(&asked);
    make(&all_asked);
    make(&nested);
    OK(rocprofiler_configure_external_correlation_id_request_service(nested.context, NULL, 0, call_in_request, NULL));
    OK(rocprofiler_configure_callback_tracing_service(first.context, ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_API,
                                                      start,
                                                      1, push_at_enter, NULL));
    OK(rocprofiler_configure_external_correlation_id_request_service(asked.context, core, 1, request, &asked));
    OK(rocprofiler_configure_external_correlation_id_request_service(all_asked.context, NULL, 0, request, &all_asked));
}

static uint64_t external_of_last(kept_t *kept)
{
    OK(rocprofiler_flush_buffer(kept->buffer));
    CHECK(kept->count > 0);
    return kept->external[kept->count - 1];
}

static void check_stacks(void)
{
    const uint64_t thread = own_thread();
    OK(rocprofiler_start_context(first.context));
    OK(rocprofiler_start_context(second.context));
    push(&first, thread, 1);
    push(&first, thread, 2);
    push(&second, thread, 3);
    roctxMarkA("2 and 3");
    CHECK(external_of_last(&first) == 2 && external_of_last(&second) == 3);
    CHECK(pop(&first, thread) == 2);
    roctxMarkA("1 and 3");
    CHECK(external_of_last(&first) == 1 && external_of_last(&second) == 3);
    OK(rocprofiler_pop_external_correlation_id(first.context, thread, NULL));
    CHECK(pop(&first, thread) == 0 && pop(&first, thread) == 0);
    roctxMarkA("0 and 3");
    CHECK(external_of_last(&first) == 0 && external_of_last(&second) == 3);
    CHECK(pop(&second, thread) == 3);

    const uint64_t wide = UINT64_MAX;
    push(&first, thread, wide);
    roctxMarkA("all bits");
    CHECK(external_of_last(&first) == wide && pop(&first, thread) == wide);
}

static pthread_barrier_t line;

static void *inherit(void *unused)
{
    const uint64_t thread = own_thread();
    (void)unused;
    roctxMarkA("10 of the first thread");
    CHECK(external_of_last(&first) == 10);
    pthread_barrier_wait(&line);
    pthread_barrier_wait(&line);
    roctxMarkA("11 of the first thread");
    CHECK(external_of_last(&first) == 11);
    push(&first, thread, 20);
    roctxMarkA("20 of its own");
    CHECK(external_of_last(&first) == 20);
    CHECK(pop(&first, thread) == 20);
    return NULL;
}

/* A thread without a stack has what the first thread has at that time; threads can push for others. */
static void check_inheritance(void)
{
    pthread_t thread;
    CHECK(pthread_barrier_init(&line, NULL, 2) == 0);
    push(&first, own_thread(), 10);
    CHECK(pthread_create(&thread, NULL, inherit, NULL) == 0);
    pthread_barrier_wait(&line);
    push(&first, own_thread(), 11);
    pthread_barrier_wait(&line);
    CHECK(pthread_join(thread, NULL) == 0);
    roctxMarkA("still 11");
    CHECK(external_of_last(&first) == 11);
    CHECK(pop(&first, own_thread()) == 11 && pop(&first, own_thread()) == 10);
}

static void check_push_at_enter(void)
{
    roctxRangeStartA("pushed at ENTER");
    CHECK(external_of_last(&first) == 1000 && seen_at_exit == 1000);
    roctxMarkA("popped at EXIT");
    CHECK(external_of_last(&first) == 0);
}

static void check_misuse(void)
{
    const rocprofiler_context_id_t unknown = {1};
    rocprofiler_user_data_t external;
    external.value = 1;
    const uint64_t threads[4] = {0, 1, UINT64_MAX, (uint64_t)1 << 32};
    for (int i = 0; i < 4; i++) {
        /* The first two are threads, but not of this process. */
        if (threads[i] == (uint64_t)getpid())
            continue;
        ANSWERS(ERROR_INVALID_ARGUMENT,
                rocprofiler_push_external_correlation_id(first.context, threads[i], external));
        ANSWERS(ERROR_INVALID_ARGUMENT,
                rocprofiler_pop_external_correlation_id(first.context, threads[i], &external));
    }
    ANSWERS(ERROR_CONTEXT_NOT_FOUND, rocprofiler_push_external_correlation_id(unknown, own_thread(), external));
    ANSWERS(ERROR_CONTEXT_NOT_FOUND, rocprofiler_pop_external_correlation_id(unknown, own_thread(), &external));
    CHECK(external.value == 1);
    OK(rocprofiler_stop_context(first.context));
    OK(rocprofiler_stop_context(second.context));
}

/* The tool is asked once for each call. If it refuses, the id is that of the stack. */
static void check_requests(void)
{
    OK(rocprofiler_start_context(asked.context));
    OK(rocprofiler_start_context(all_asked.context));
    push(&asked, own_thread(), 42);
    push(&all_asked, own_thread(), 43);
    roctxMarkA("answered");
    CHECK(external_of_last(&asked) == 5000 && external_of_last(&all_asked) == 5000);
    CHECK(last_internal == all_asked.internal[0] && last_internal == asked.internal[0]);
    CHECK(last_kind == ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_MARKER_CORE_API);
    roctxRangePop();
    CHECK(last_operation == ROCPROFILER_MARKER_CORE_API_ID_roctxRangePop);
    CHECK(external_of_last(&asked) == 5002 && external_of_last(&all_asked) == 5002);
    roctxNameHipDevice("only all are asked", 0);
    CHECK(last_kind == ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_MARKER_NAME_API);
    CHECK(external_of_last(&asked) == 42 && external_of_last(&all_asked) == 5002);
    answer = -1;
    roctxMarkA("refused");
    CHECK(external_of_last(&asked) == 42 && external_of_last(&all_asked) == 43);
}

/* A request that always makes the call that it is asked for does not recurse forever. The innermost call makes no
 * request. */
static void check_request_that_calls(void)
{
    OK(rocprofiler_stop_context(asked.context));
    OK(rocprofiler_stop_context(all_asked.context));
    OK(rocprofiler_start_context(nested.context));
    for (int round = 0; round < 2; round++) {
        nested.count = 0;
        nested_requests = 0;
        roctxMarkA("asks");
        OK(rocprofiler_flush_buffer(nested.buffer));
        CHECK(nested_requests > 0 && nested.count == (size_t)nested_requests + 1);
        CHECK(nested.external[0] == 0);
        for (size_t i = 1; i < nested.count; i++)
            CHECK(nested.external[i] == nested.internal[i]);
    }
}

int main(void)
{
    begin();
    check_stacks();
    check_inheritance();
    check_push_at_enter();
    check_misuse();
    check_requests();
    check_request_that_calls();
    return 0;
}
