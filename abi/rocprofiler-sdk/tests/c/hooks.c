/*
 * The functions that are called around the creation of threads use the library themselves: they create threads,
 * register more such functions, create, fill and flush buffers, call ROCTx, and fork. Nothing hangs.
 */
static void make_threads(void);
static void finish(void);
#define TOOL_INITIALIZE make_threads
#define TOOL_FINALIZE finish
#include "tool.h"

static rocprofiler_context_id_t context;
static rocprofiler_buffer_id_t buffers[2], traced;
static rocprofiler_callback_thread_t inner, outer;
static uint64_t records, marks;
static int befores, afters, nested;
static pid_t process;

static void take(rocprofiler_context_id_t from, rocprofiler_buffer_id_t buffer, rocprofiler_record_header_t **headers,
                 size_t count, void *data, uint64_t drop_count)
{
    (void)from, (void)headers, (void)data;
    CHECK(drop_count == 0);
    if (buffer.handle == traced.handle)
        marks += count;
    else
        records += count;
}

static void emit(rocprofiler_buffer_id_t buffer)
{
    uint64_t payload = 0;
    OK(opscope_rocprofiler_emit(buffer, OWN_CATEGORY, 0, &payload, sizeof payload));
}

static void count_nested(rocprofiler_runtime_library_t library, void *data)
{
    (void)library, (void)data;
    nested++;
}

static void before(rocprofiler_runtime_library_t library, void *data)
{
    (void)library, (void)data;
    befores++;
    /* In the child of a fork, where the thread starts again: this mark goes to the very buffer that needs it. */
    if (getpid() != process) {
        roctxMarkA("while the thread is created");
        return;
    }
    if (befores > 1)
        return;
    context = new_context();
    /* Of the default thread, which is created for it. */
    buffers[0] = new_buffer(context, 4096, 4096, ROCPROFILER_BUFFER_POLICY_LOSSLESS, take, NULL);
    OK(rocprofiler_at_internal_thread_create(count_nested, count_nested, 0, NULL));
    OK(rocprofiler_create_callback_thread(&inner));
    CHECK(inner.handle == 1 && nested == 2);
    buffers[1] = new_buffer(context, 4096, 4096, ROCPROFILER_BUFFER_POLICY_LOSSLESS, take, NULL);
    OK(rocprofiler_assign_callback_thread(buffers[1], inner));
    roctxMarkA("in the function");
    for (int i = 0; i < 2; i++) {
        emit(buffers[i]);
        OK(rocprofiler_flush_buffer(buffers[i]));
    }
    CHECK(records == 2);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        emit(buffers[0]);
        OK(rocprofiler_flush_buffer(buffers[0]));
        CHECK(records == 3);
        _exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void after(rocprofiler_runtime_library_t library, void *data)
{
    (void)library, (void)data;
    if (++afters > 1 || getpid() != process)
        return;
    emit(buffers[0]);
    OK(rocprofiler_flush_buffer(buffers[0]));
    CHECK(records == 3);
}

static void make_threads(void)
{
    process = getpid();
    OK(rocprofiler_at_internal_thread_create(before, after, 0, NULL));
    OK(rocprofiler_create_callback_thread(&outer));
    /* The first function was not called for the threads that it created itself, and the second one was for all later
     * ones. */
    CHECK(outer.handle == 2 && befores == 1 && afters == 1 && nested == 2);
    traced = new_buffer(context, 4096, 4096, ROCPROFILER_BUFFER_POLICY_LOSSLESS, take, NULL);
    OK(rocprofiler_configure_buffer_tracing_service(context, ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API, NULL, 0, traced));
    OK(rocprofiler_start_context(context));
}

static void finish(void)
{
    CHECK(getpid() != process || marks == 1);
}

int main(void)
{
    begin();
    roctxMarkA("before the fork");
    OK(rocprofiler_flush_buffer(traced));
    CHECK(marks == 1);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        roctxMarkA("in the child");
        OK(rocprofiler_flush_buffer(traced));
        CHECK(marks == 3 && befores == 2 && afters == 2);
        _exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}
