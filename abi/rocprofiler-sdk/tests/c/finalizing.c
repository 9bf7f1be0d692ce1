/*
 * Two tools, the first of which is finalized early. The argument says where: in the callback for the beginning of a
 * call ("enter", and "another context" of it that wants the same call), in a "request" for an external correlation id,
 * in the callback of a buffer that receives a "large batch" or "small batches", or while other "threads" or the
 * process's "exit" wait.
 */
#include "sdk.h"

#include <rocprofiler-sdk-roctx/api_trace.h>

enum { LARGE = 4000, SMALL = 100 };

/* A tool, and how often it was called. */
typedef struct {
    rocprofiler_client_finalize_t finalize;
    rocprofiler_client_id_t *id;
    rocprofiler_buffer_id_t buffer;
    int calls, enters, exits, requests, intercepts;
    size_t records;
    int is_finalized;
} tool_t;

static tool_t tools[2];
static const char *where;
/* Whether the next callback of the first tool finalizes it. */
static int finalizes;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void set(int *flag)
{
    pthread_mutex_lock(&lock);
    *flag = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void await(const int *flag)
{
    pthread_mutex_lock(&lock);
    while (!*flag)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static int is(const char *text)
{
    return strcmp(where, text) == 0;
}

static void finalize_first(void)
{
    if (finalizes) {
        finalizes = 0;
        tools[0].finalize(*tools[0].id);
        CHECK(tools[0].is_finalized);
    }
}

static void called(rocprofiler_callback_tracing_record_t record, rocprofiler_user_data_t *user_data, void *data)
{
    tool_t *tool = (tool_t *)data;
    (void)user_data;
    CHECK(!tool->is_finalized);
    tool->calls++;
    tool->enters += record.phase == ROCPROFILER_CALLBACK_PHASE_ENTER;
    tool->exits += record.phase == ROCPROFILER_CALLBACK_PHASE_EXIT;
    if (tool == &tools[0] && record.phase == ROCPROFILER_CALLBACK_PHASE_ENTER && !is("request"))
        finalize_first();
}

static int request(rocprofiler_thread_id_t thread, rocprofiler_context_id_t context,
                   rocprofiler_external_correlation_id_request_kind_t kind, rocprofiler_tracing_operation_t operation,
                   uint64_t internal, rocprofiler_user_data_t *external, void *data)
{
    tool_t *tool = (tool_t *)data;
    (void)thread, (void)context, (void)kind, (void)operation, (void)internal, (void)external;
    CHECK(!tool->is_finalized);
    tool->requests++;
    if (tool == &tools[0])
        finalize_first();
    return 0;
}

/* Whether the first tool's callback is in its first batch, and whether it may leave it. */
static int is_inside, may_leave;

static void take(rocprofiler_context_id_t context, rocprofiler_buffer_id_t buffer, rocprofiler_record_header_t **headers,
                 size_t count, void *data, uint64_t drop_count)
{
    tool_t *tool = (tool_t *)data;
    (void)context, (void)headers;
    CHECK(buffer.handle == tool->buffer.handle && drop_count == 0);
    CHECK(!tool->is_finalized);
    tool->records += count;
    if (tool == &tools[0] && finalizes) {
        finalizes = 0;
        set(&is_inside);
        await(&may_leave);
        tool->finalize(*tool->id);
    }
}

static void intercept(rocprofiler_intercept_table_t type, uint64_t version, uint64_t instance, void **tables,
                      uint64_t count, void *data)
{
    tool_t *tool = (tool_t *)data;
    (void)type, (void)version, (void)instance, (void)tables, (void)count;
    CHECK(!tool->is_finalized);
    tool->intercepts++;
}

static void trace(tool_t *tool)
{
    rocprofiler_context_id_t context = new_context();
    OK(rocprofiler_configure_callback_tracing_service(context, ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_API, NULL, 0,
                                                      called, tool));
    OK(rocprofiler_configure_callback_tracing_service(context, ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_RANGE_API, NULL,
                                                      0, called, tool));
    if (is("request"))
        OK(rocprofiler_configure_external_correlation_id_request_service(context, NULL, 0, request, tool));
    OK(rocprofiler_start_context(context));
}

static void trace_into_buffer(tool_t *tool)
{
    rocprofiler_context_id_t context = new_context();
    const size_t watermark = is("large batch") ? 1 << 20 : 64;
    tool->buffer = new_buffer(context, 1 << 20, watermark, ROCPROFILER_BUFFER_POLICY_LOSSLESS, take, tool);
    OK(rocprofiler_configure_buffer_tracing_service(context, ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API, NULL, 0,
                                                    tool->buffer));
    OK(rocprofiler_start_context(context));
}

static int initialize(rocprofiler_client_finalize_t function, void *data)
{
    tool_t *tool = (tool_t *)data;
    tool->finalize = function;
    if (is("large batch") || is("small batches")) {
        trace_into_buffer(tool);
    } else if (!is("threads") && !is("exit")) {
        OK(rocprofiler_at_intercept_table_registration(intercept, 0, tool));
        trace(tool);
        if (!is("enter"))
            trace(tool);
    }
    return 0;
}

/* The thread that is to wait for the finalization; 0 while there is none. */
static int waiting[2], is_finalizing;

/* Waits until a thread that will do nothing else than wait for the finalization does so: it sleeps. */
static void await_sleep(const int *thread)
{
    while (__atomic_load_n(thread, __ATOMIC_ACQUIRE) == 0)
        sched_yield();
    char path[64], state = 'R';
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", *thread);
    while (state != 'S') {
        sched_yield();
        FILE *file = fopen(path, "r");
        CHECK(file != NULL && fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
        fclose(file);
    }
}

static void finalize(void *data)
{
    tool_t *tool = (tool_t *)data;
    CHECK(!tool->is_finalized);
    if (tool == &tools[0] && (is("threads") || is("exit"))) {
        set(&is_finalizing);
        await_sleep(&waiting[0]);
        if (is("threads"))
            await_sleep(&waiting[1]);
        else
            CHECK(write(1, "finalized\n", 10) == 10);
    }
    set(&tool->is_finalized);
}

static rocprofiler_tool_configure_result_t *configure(int number, rocprofiler_client_id_t *id)
{
    static rocprofiler_tool_configure_result_t results[2];
    tools[number].id = id;
    results[number].size = sizeof results[number];
    results[number].initialize = initialize;
    results[number].finalize = finalize;
    results[number].tool_data = &tools[number];
    return &results[number];
}

static rocprofiler_tool_configure_result_t *configure_first(uint32_t version, const char *text, uint32_t priority,
                                                            rocprofiler_client_id_t *id)
{
    (void)version, (void)text, (void)priority;
    return configure(0, id);
}

rocprofiler_tool_configure_result_t *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority,
                                                           rocprofiler_client_id_t *id)
{
    (void)version, (void)text, (void)priority;
    return configure(1, id);
}

/* The first tool ends with ranges open, and the second sees them end. */
static void check_open_ranges(void)
{
    const int contexts = is("enter") ? 1 : 2;
    roctxRangePushA("thread range");
    roctx_range_id_t range = roctxRangeStartA("process range");
    tool_t before = tools[0];
    CHECK(before.enters == 4 * contexts && before.exits == 2 * contexts);
    finalizes = 1;
    roctxMarkA("ends the first tool");
    CHECK(tools[0].is_finalized && finalized() == 0);
    /* The id of a range is requested before its callbacks. A tool that is finalized in the request is not called
     * back. */
    CHECK(tools[0].requests == before.requests + is("request"));
    CHECK(tools[0].enters == before.enters + !is("request") && tools[0].exits == before.exits);
    roctxRangePop();
    roctxRangeStop(range);
    roctxMarkA("of the second tool");
    CHECK(tools[0].calls == before.calls + !is("request"));
    /* Six calls, and four ranges. */
    CHECK(tools[1].enters == 10 * contexts && tools[1].exits == 10 * contexts);
    CHECK(tools[1].requests == (is("request") ? 10 * contexts : 0) && !tools[1].is_finalized);
}

/* A runtime that comes afterwards is shown to the second tool only. */
static void check_intercepts(void)
{
    static roctxCoreApiTable_t core;
    static roctxControlApiTable_t control;
    static roctxNameApiTable_t names;
    core.size = sizeof core;
    control.size = sizeof control;
    names.size = sizeof names;
    void *tables[3] = {&core, &control, &names};
    CHECK(tools[0].intercepts == 3 && tools[1].intercepts == 3);
    CHECK(rocprofiler_set_api_table("roctx", 10000, 1, tables, 3) == 0);
    CHECK(tools[0].intercepts == 3 && tools[1].intercepts == 6);
}

static void *mark(void *count)
{
    for (int i = 0; i < *(int *)count; i++)
        roctxMarkA("of a thread");
    return NULL;
}

/* The first tool receives all earlier records before it is finalized. */
static void check_batches(void)
{
    int count = is("large batch") ? LARGE : SMALL;
    finalizes = 1;
    if (is("large batch")) {
        mark(&count);
        set(&may_leave);
        OK(rocprofiler_flush_buffer(tools[0].buffer));
    } else {
        roctxMarkA("wakes the callback");
        await(&is_inside);
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, mark, &count) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        mark(&count);
        count += count + 1;
        set(&may_leave);
    }
    await(&tools[0].is_finalized);
    CHECK(tools[0].records == (size_t)count);
    roctxMarkA("of the second tool");
    OK(rocprofiler_flush_buffer(tools[1].buffer));
    CHECK(tools[0].records == (size_t)count && tools[1].records == (size_t)count + 1);
}

static void *finalize_in_thread(void *unused)
{
    (void)unused;
    tools[0].finalize(*tools[0].id);
    CHECK(tools[0].is_finalized);
    return NULL;
}

/* Waits for the finalization of the same tool, which another thread does. */
static void *finalize_too(void *unused)
{
    __atomic_store_n(&waiting[0], (int)own_thread(), __ATOMIC_RELEASE);
    return finalize_in_thread(unused);
}

static void check_threads(void)
{
    pthread_t threads[2];
    CHECK(pthread_create(&threads[0], NULL, finalize_in_thread, NULL) == 0);
    await(&is_finalizing);
    CHECK(pthread_create(&threads[1], NULL, finalize_too, NULL) == 0);
    __atomic_store_n(&waiting[1], (int)own_thread(), __ATOMIC_RELEASE);
    tools[1].finalize(*tools[1].id);
    CHECK(tools[0].is_finalized && tools[1].is_finalized);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static void check_exit(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, finalize_in_thread, NULL) == 0);
    await(&is_finalizing);
    __atomic_store_n(&waiting[0], (int)own_thread(), __ATOMIC_RELEASE);
    exit(0);
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    where = arguments[1];
    OK(rocprofiler_force_configure(configure_first));
    CHECK(tools[0].finalize != NULL && tools[1].finalize != NULL);
    if (is("threads")) {
        check_threads();
    } else if (is("exit")) {
        check_exit();
    } else if (is("large batch") || is("small batches")) {
        check_batches();
    } else {
        check_open_ranges();
        check_intercepts();
    }
    return 0;
}
