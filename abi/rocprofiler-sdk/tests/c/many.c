/*
 * Four threads and a million records. Arguments: the size of the buffer, its watermark, "lossless" or "discard", and
 * "alone" or "beside" another context, which counts by callback.
 */
static void make_services(void);
static void finish(void);
#define TOOL_INITIALIZE make_services
#define TOOL_FINALIZE finish
#include "tool.h"

enum { THREADS = 4, CALLS = 250000, MOST_IDS = 1 << 23 };

static size_t size, watermark;
static int is_lossless, is_beside;
static rocprofiler_context_id_t context, other;
static rocprofiler_buffer_id_t buffer;

/* The records of each thread. */
static struct {
    uint64_t thread, count, last_id, last_end;
} seen[THREADS + 1];
static uint8_t ids[MOST_IDS / 8];
static uint64_t delivered, dropped, largest, counted;

static void take(rocprofiler_context_id_t from, rocprofiler_buffer_id_t of, rocprofiler_record_header_t **headers,
                 size_t count, void *data, uint64_t drop_count)
{
    (void)from, (void)of, (void)data;
    CHECK(drop_count >= dropped);
    dropped = drop_count;
    largest = count > largest ? count : largest;
    delivered += count;
    for (size_t i = 0; i < count; i++) {
        const rocprofiler_buffer_tracing_marker_api_record_t *record =
            (const rocprofiler_buffer_tracing_marker_api_record_t *)headers[i]->payload;
        int thread = 0;
        while (seen[thread].thread != record->thread_id && seen[thread].thread != 0)
            CHECK(++thread <= THREADS);
        seen[thread].thread = record->thread_id;
        uint64_t id = record->correlation_id.internal;
        CHECK(id > seen[thread].last_id && id < MOST_IDS);
        CHECK((ids[id / 8] >> id % 8 & 1) == 0);
        ids[id / 8] = (uint8_t)(ids[id / 8] | 1 << id % 8);
        CHECK(record->start_timestamp >= seen[thread].last_end);
        /* If nothing is dropped, a push is followed by its pop. */
        CHECK(!is_lossless || record->operation == 1 + (int32_t)(seen[thread].count % 2));
        seen[thread].last_id = id;
        seen[thread].last_end = record->end_timestamp;
        seen[thread].count++;
    }
}

static void count(rocprofiler_callback_tracing_record_t record, rocprofiler_user_data_t *user_data, void *data)
{
    (void)user_data, (void)data;
    if (record.phase == ROCPROFILER_CALLBACK_PHASE_EXIT)
        __atomic_fetch_add(&counted, 1, __ATOMIC_RELAXED);
}

static void make_services(void)
{
    context = new_context();
    buffer = new_buffer(context, size, watermark,
                        is_lossless ? ROCPROFILER_BUFFER_POLICY_LOSSLESS : ROCPROFILER_BUFFER_POLICY_DISCARD, take,
                        NULL);
    OK(rocprofiler_configure_buffer_tracing_service(context, ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API, NULL, 0,
                                                    buffer));
    OK(rocprofiler_start_context(context));
    if (is_beside) {
        other = new_context();
        OK(rocprofiler_configure_callback_tracing_service(other, ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_API, NULL, 0,
                                                          count, NULL));
        OK(rocprofiler_start_context(other));
    }
}

static void *call(void *unused)
{
    (void)unused;
    for (int i = 0; i < CALLS / 2; i++) {
        CHECK(roctxRangePushA("range") == 0);
        CHECK(roctxRangePop() == 0);
    }
    return NULL;
}

static void finish(void)
{
    uint64_t made = (uint64_t)THREADS * CALLS;
    CHECK(!is_beside || counted == made + 1);
    CHECK(delivered + dropped == made + 1);
    CHECK(is_lossless ? dropped == 0 : delivered > 0);
    /* No callback receives more than fits into the buffer. */
    CHECK(largest * sizeof(rocprofiler_buffer_tracing_marker_api_record_t) <= (size > 65536 ? 65536 : size));
    for (int i = 0; is_lossless && i < THREADS; i++)
        CHECK(seen[i].count == CALLS);
}

int main(int count_of_arguments, char **arguments)
{
    CHECK(count_of_arguments == 5);
    size = strtoul(arguments[1], NULL, 10);
    watermark = strtoul(arguments[2], NULL, 10);
    is_lossless = strcmp(arguments[3], "lossless") == 0;
    is_beside = strcmp(arguments[4], "beside") == 0;
    begin();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, call, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    /* The last callback says how many were dropped in all. */
    OK(rocprofiler_flush_buffer(buffer));
    CHECK(roctxRangePushA("last") == 0);
    return 0;
}
