/* A program that contains a tool, for the benchmark `records`. The program calls ROCTx and acts as a producer, and
 * the tool counts the records. */
#include <opscope_producer.h>
#include <rocprofiler/v2/rocprofiler.h>
#include <roctracer/roctx.h>

#include <string.h>

static rocprofiler_session_id_t session;
static rocprofiler_buffer_id_t buffer;
static uint64_t markers, dispatches, wrong;

static const uint64_t shape[] = {1, 64, 32, 32};
static const opscope_producer_attribution_t attribution = {0, 1};
static const opscope_producer_kernel_t kernel = {sizeof kernel, 0, 0, "conv", "Conv", "conv", "Conv", &attribution, 1,
                                                 "float32", shape, 4};
static const opscope_producer_kernel_t *const kernels[] = {&kernel};
static const opscope_producer_plan_t plan = {sizeof plan, 1, 1, kernels, 1};

/* The table of a producer, whose functions do nothing at first. */
static void nothing_runtime(void *c, const opscope_producer_runtime_t *p) { (void)c, (void)p; }
static void nothing_model(void *c, const opscope_producer_model_t *p) { (void)c, (void)p; }
static void nothing_plan(void *c, const opscope_producer_plan_t *p) { (void)c, (void)p; }
static void nothing_thread(void *c, const opscope_producer_thread_t *p) { (void)c, (void)p; }
static void nothing_run(void *c, const opscope_producer_run_t *p) { (void)c, (void)p; }
static void nothing_dispatch(void *c, const opscope_producer_dispatch_t *p) { (void)c, (void)p; }
static void nothing_copy(void *c, const opscope_producer_copy_t *p) { (void)c, (void)p; }
static void nothing_allocation(void *c, const opscope_producer_allocation_t *p) { (void)c, (void)p; }

static opscope_producer_t table = {sizeof table, OPSCOPE_PRODUCER_VERSION, NULL, nothing_runtime, nothing_model,
                                   nothing_model, nothing_plan, nothing_thread, nothing_run, nothing_run,
                                   nothing_dispatch, nothing_dispatch, nothing_copy, nothing_allocation};

static void count(const rocprofiler_record_header_t *begin, const rocprofiler_record_header_t *end,
                  rocprofiler_session_id_t of, rocprofiler_buffer_id_t from)
{
    while (begin < end) {
        if (begin->kind == ROCPROFILER_TRACER_RECORD) {
            const rocprofiler_record_tracer_t *record = (const rocprofiler_record_tracer_t *)begin;
            wrong += strcmp(record->name, "a message") != 0 || record->timestamps.begin.value == 0;
            markers++;
        } else {
            const rocprofiler_record_profiler_t *record = (const rocprofiler_record_profiler_t *)begin;
            wrong += record->kernel_properties.grid_size != 64 * 32 * 32 || record->timestamps.end.value != 20;
            dispatches++;
        }
        if (rocprofiler_next_record(begin, &begin, of, from) != ROCPROFILER_STATUS_SUCCESS) {
            wrong++;
            return;
        }
    }
}

/* Starts a session for markers and dispatches. */
int caller_begin(void)
{
    rocprofiler_tracer_activity_domain_t domains[] = {ACTIVITY_DOMAIN_ROCTX};
    rocprofiler_filter_data_t data;
    rocprofiler_filter_property_t property;
    rocprofiler_filter_id_t calls, timestamps;
    int failed = 0;
    memset(&data, 0, sizeof data);
    memset(&property, 0, sizeof property);
    data.trace_apis = domains;
    failed |= rocprofiler_initialize();
    failed |= rocprofiler_create_session(ROCPROFILER_NONE_REPLAY_MODE, &session);
    failed |= rocprofiler_create_filter(session, ROCPROFILER_API_TRACE, data, 1, &calls, property);
    failed |= rocprofiler_create_filter(session, ROCPROFILER_DISPATCH_TIMESTAMPS_COLLECTION, data, 0, &timestamps, property);
    failed |= rocprofiler_create_buffer(session, count, 8 << 20, &buffer);
    failed |= rocprofiler_set_filter_buffer(session, calls, buffer);
    failed |= rocprofiler_set_filter_buffer(session, timestamps, buffer);
    failed |= rocprofiler_start_session(session);
    failed |= opscope_attach_producer(&table);
    table.plan_made(table.consumer, &plan);
    return failed;
}

void caller_mark(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        roctxMarkA("a message");
}

/* A marker and a dispatch in turns. */
void caller_alternate(uint64_t count)
{
    opscope_producer_dispatch_t dispatch = {sizeof dispatch, 1, 1, 1, &kernel, NULL, 0, 7, 10, 20};
    for (uint64_t i = 0; i < count; i += 2) {
        roctxMarkA("a message");
        table.dispatch_end(table.consumer, &dispatch);
    }
}

int caller_flush(void)
{
    return rocprofiler_flush_data(session, buffer);
}

uint64_t caller_markers(void)
{
    return markers;
}

uint64_t caller_dispatches(void)
{
    return dispatches;
}

uint64_t caller_wrong(void)
{
    return wrong;
}
