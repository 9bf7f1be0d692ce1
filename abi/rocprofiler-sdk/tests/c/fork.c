/* A program that forks while a tool records: parent and child each continue, and end by themselves. */
static void make_services(void);
static void finish(void);
#define TOOL_INITIALIZE make_services
#define TOOL_FINALIZE finish
#include "tool.h"

static rocprofiler_context_id_t context;
static rocprofiler_buffer_id_t buffer;
static size_t records, finalizations;
static uint64_t thread;

static void keep(rocprofiler_context_id_t from, rocprofiler_buffer_id_t of, rocprofiler_record_header_t **headers,
                 size_t count, void *data, uint64_t drop_count)
{
    (void)from, (void)of, (void)data, (void)drop_count;
    for (size_t i = 0; i < count; i++) {
        const rocprofiler_buffer_tracing_marker_api_record_t *record =
            (const rocprofiler_buffer_tracing_marker_api_record_t *)headers[i]->payload;
        CHECK(record->thread_id == thread);
    }
    records += count;
}

static void make_services(void)
{
    context = new_context();
    buffer = new_buffer(context, 4096, 4096, ROCPROFILER_BUFFER_POLICY_LOSSLESS, keep, NULL);
    OK(rocprofiler_configure_buffer_tracing_service(context, ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API, NULL, 0,
                                                    buffer));
    OK(rocprofiler_start_context(context));
    thread = own_thread();
}

static void finish(void)
{
    CHECK(++finalizations == 1);
    CHECK(records % 1000 == 17);
}

int main(void)
{
    begin();
    for (int i = 0; i < 5; i++)
        roctxMarkA("before");
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        /* The records in the parent's buffer belong to the parent. */
        thread = own_thread();
        OK(rocprofiler_flush_buffer(buffer));
        CHECK(records == 0);
        for (int i = 0; i < 1017; i++)
            roctxMarkA("in the child");
        OK(rocprofiler_stop_context(context));
        OK(rocprofiler_flush_buffer(buffer));
        CHECK(records == 1017);
        exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    OK(rocprofiler_flush_buffer(buffer));
    CHECK(records == 5);
    for (int i = 0; i < 12; i++)
        roctxMarkA("after");
    return 0;
}
