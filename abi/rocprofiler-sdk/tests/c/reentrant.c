/*
 * Callbacks that use the library themselves: a buffer's callback emits more records into the same buffer than fit into
 * it, a tracing callback flushes, and both switch contexts. Nothing hangs, and every record is delivered or counted as
 * dropped.
 */
static void make_services(void);
static void finish(void);
#define TOOL_INITIALIZE make_services
#define TOOL_FINALIZE finish
#include "tool.h"

enum { INSIDE = 1000 };

static rocprofiler_context_id_t context, other;
static rocprofiler_buffer_id_t buffer;
static uint64_t made, delivered, dropped;
static int acts, flushes;

static void take(rocprofiler_context_id_t from, rocprofiler_buffer_id_t of, rocprofiler_record_header_t **headers,
                 size_t count, void *data, uint64_t drop_count)
{
    (void)from, (void)of, (void)data;
    CHECK(drop_count >= dropped);
    dropped = drop_count;
    delivered += count;
    if (acts) {
        acts = 0;
        for (int i = 0; i < INSIDE; i++)
            roctxMarkA("inside of the buffer's callback");
        made += INSIDE;
        ANSWERS(ERROR_BUFFER_BUSY, rocprofiler_flush_buffer(buffer));
        OK(rocprofiler_stop_context(context));
        roctxMarkA("not traced");
        OK(rocprofiler_start_context(context));
    }
    /* The records of the callback are still valid. */
    for (size_t i = 0; i < count; i++)
        CHECK(headers[i]->kind == ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API &&
              *(uint64_t *)headers[i]->payload == sizeof(rocprofiler_buffer_tracing_marker_api_record_t));
}

static void flush_at_enter(rocprofiler_callback_tracing_record_t record, rocprofiler_user_data_t *user_data, void *data)
{
    (void)user_data, (void)data;
    if (record.phase == ROCPROFILER_CALLBACK_PHASE_ENTER) {
        OK(rocprofiler_flush_buffer(buffer));
        CHECK(delivered + dropped == made);
        flushes++;
    }
}

static void make_services(void)
{
    context = new_context();
    buffer = new_buffer(context, 4096, 4096, ROCPROFILER_BUFFER_POLICY_LOSSLESS, take, NULL);
    OK(rocprofiler_configure_buffer_tracing_service(context, ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API, NULL, 0,
                                                    buffer));
    OK(rocprofiler_start_context(context));
    other = new_context();
    OK(rocprofiler_configure_callback_tracing_service(other, ROCPROFILER_CALLBACK_TRACING_MARKER_NAME_API, NULL, 0,
                                                      flush_at_enter, NULL));
    OK(rocprofiler_start_context(other));
}

static void *mark_and_end(void *unused)
{
    (void)unused;
    roctxMarkA("of a thread that ends");
    return NULL;
}

static void finish(void)
{
    CHECK(delivered + dropped == made && made == INSIDE + 4 && flushes == 1);
}

int main(void)
{
    begin();
    acts = 1;
    roctxMarkA("first");
    made++;
    OK(rocprofiler_flush_buffer(buffer));
    OK(rocprofiler_flush_buffer(buffer));
    CHECK(delivered > 1);
    /* The next callback reports the earlier drops. */
    roctxMarkA("second");
    made++;
    OK(rocprofiler_flush_buffer(buffer));
    CHECK(delivered + dropped == made);

    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, mark_and_end, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    made++;
    roctxNameOsThread("flushes");
    roctxMarkA("waits for the end");
    made++;
    return 0;
}
