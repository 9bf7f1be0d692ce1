/* Records: buffers, contexts, marks and ranges, own kinds, statistics, policies, several threads, a slow callback. */
#include "check.h"

#include <pthread.h>

struct seen {
    uint64_t records, batches, bytes, last_end, ranges, marks, counters, own;
    uint64_t next_first;
    const char *names[8];
    const opscope_batch_t *stale;
    opscope_status_t flush_inside, destroy_inside;
};

static void count(const opscope_batch_t *batch, void *user)
{
    struct seen *seen = (struct seen *)user;
    CHECK(batch->size == sizeof *batch);
    CHECK(batch->first == seen->next_first);
    seen->next_first += batch->records;
    seen->batches++;
    opscope_record_t record;
    record.size = sizeof record;
    opscope_status_t status;
    uint64_t records = 0;
    record.size = 1; /* A record that could not be written is not lost. */
    IS(opscope_batch_next(batch, &record), OPSCOPE_ERROR_INVALID_SIZE);
    IS(opscope_batch_next(batch, NULL), OPSCOPE_ERROR_INVALID_ARGUMENT);
    record.size = sizeof record;
    while ((status = opscope_batch_next(batch, &record)) == OPSCOPE_OK) {
        records++;
        seen->bytes += (record.length + 7u) / 8u * 8u;
        CHECK((size_t)record.payload % 8 == 0);
        if (record.category != OPSCOPE_CATEGORY) {
            CHECK(record.category == 7 && record.kind == 42 && record.length == 24);
            seen->own++;
        } else if (record.kind == OPSCOPE_MARKER) {
            const opscope_marker_record_t *marker = (const opscope_marker_record_t *)record.payload;
            CHECK(record.length == sizeof *marker);
            uint64_t begin = opscope_batch_nanoseconds(batch, marker->start);
            uint64_t end = opscope_batch_nanoseconds(batch, marker->end);
            CHECK(begin > 0 && begin <= end && end <= opscope_timestamp());
            CHECK(marker->correlation.external == 77);
            if (marker->operation == 1)
                seen->names[seen->ranges++ % 8] = opscope_name(marker->name);
            else
                seen->marks++;
        } else {
            CHECK(record.kind == OPSCOPE_COUNTER);
            const opscope_counter_record_t *counter = (const opscope_counter_record_t *)record.payload;
            CHECK(counter->value == 2.5);
            seen->counters++;
        }
    }
    CHECK(status == OPSCOPE_EMPTY);
    CHECK(records == batch->records);
    seen->records += records;
    seen->stale = batch;
    seen->flush_inside = opscope_buffer_flush(batch->buffer);
}

static void destroy_own(const opscope_batch_t *batch, void *user)
{
    struct seen *seen = (struct seen *)user;
    seen->destroy_inside = opscope_buffer_destroy(batch->buffer);
}

static void *emit_many(void *argument)
{
    opscope_buffer_t *buffers = (opscope_buffer_t *)argument;
    const uint64_t payload[3] = {1, 2, 3};
    for (int i = 0; i < 10000; i++) {
        OK(opscope_buffer_emit(buffers[0], 7, 42, payload, sizeof payload));
        if (i % 100 == 0)
            OK(opscope_buffer_emit(buffers[1], 7, 42, payload, sizeof payload));
    }
    return NULL;
}

static void ignore(const opscope_batch_t *batch, void *user)
{
    (void)batch;
    ++*(uint64_t *)user;
}

int main(void)
{
    struct seen seen;
    memset(&seen, 0, sizeof seen);
    opscope_buffer_t buffer;
    OK(opscope_buffer_create(NULL, count, &seen, &buffer));
    opscope_context_t context;
    OK(opscope_context_create(&context));
    OK(opscope_context_configure(context, OPSCOPE_MARKER, NULL, 0, buffer));
    OK(opscope_context_configure(context, OPSCOPE_COUNTER, NULL, 0, buffer));
    IS(opscope_context_configure(context, OPSCOPE_MARKER, NULL, 0, buffer), OPSCOPE_ERROR_INVALID_STATE);
    IS(opscope_context_stop(context), OPSCOPE_ERROR_INVALID_STATE);

    CHECK(opscope_kind_wanted(OPSCOPE_MARKER) == 0);
    OK(opscope_mark("before the context is started"));
    OK(opscope_context_start(context));
    CHECK(opscope_kind_wanted(OPSCOPE_MARKER) == 1 && opscope_kind_wanted(OPSCOPE_RUN) == 0);

    OK(opscope_push_external(77));
    opscope_correlation_t correlation;
    OK(opscope_correlation(&correlation));
    CHECK(correlation.external == 77);
    OK(opscope_range_push("outer"));
    uint32_t inner, counter, again;
    OK(opscope_intern("inner", &inner));
    OK(opscope_intern("inner", &again));
    CHECK(inner == again && strcmp(opscope_name(inner), "inner") == 0);
    OK(opscope_range_push_named(inner));
    OK(opscope_mark("a mark"));
    OK(opscope_mark_named(inner));
    OK(opscope_range_pop());
    OK(opscope_range_pop());
    IS(opscope_range_pop(), OPSCOPE_ERROR_INVALID_STATE);
    SAYS("push one first");
    OK(opscope_intern("queue length", &counter));
    OK(opscope_counter(counter, 2.5));
    const uint64_t payload[3] = {1, 2, 3};
    OK(opscope_buffer_emit(buffer, 7, 42, payload, sizeof payload));
    uint64_t external;
    OK(opscope_pop_external(&external));
    CHECK(external == 77);
    IS(opscope_pop_external(&external), OPSCOPE_ERROR_INVALID_STATE);

    OK(opscope_context_stop(context));
    OK(opscope_mark("after the context was stopped"));
    OK(opscope_buffer_flush(buffer));
    printf("%llu ranges (%s, %s), %llu marks, %llu counter, %llu own\n", (unsigned long long)seen.ranges,
           seen.names[0], seen.names[1], (unsigned long long)seen.marks, (unsigned long long)seen.counters,
           (unsigned long long)seen.own);
    CHECK(seen.flush_inside == OPSCOPE_ERROR_BUSY);

    opscope_buffer_statistics_t all, marks;
    all.size = marks.size = sizeof all;
    OK(opscope_buffer_statistics(buffer, &all));
    OK(opscope_buffer_kind_statistics(buffer, OPSCOPE_CATEGORY, OPSCOPE_MARKER, &marks));
    CHECK(all.emitted == 6 && all.delivered == 6 && all.dropped == 0 && all.waiting == 0);
    CHECK(all.bytes == seen.bytes && all.callbacks == seen.batches && marks.delivered == 4);

    /* A batch ends with its callback. */
    opscope_record_t record;
    record.size = sizeof record;
    IS(opscope_batch_next(seen.stale, &record), OPSCOPE_ERROR_INVALID_HANDLE);
    CHECK(opscope_batch_nanoseconds(seen.stale, opscope_ticks()) == 0);
    SAYS("valid until its callback returns");

    /* A callback may destroy its own buffer. */
    opscope_buffer_t other;
    OK(opscope_buffer_create(NULL, destroy_own, &seen, &other));
    OK(opscope_buffer_emit(other, 7, 42, payload, sizeof payload));
    OK(opscope_buffer_flush(other));
    CHECK(seen.destroy_inside == OPSCOPE_OK);
    IS(opscope_buffer_emit(other, 7, 42, payload, sizeof payload), OPSCOPE_ERROR_INVALID_HANDLE);
    IS(opscope_buffer_destroy(other), OPSCOPE_ERROR_INVALID_HANDLE);

    /* Two threads and two buffers, one of which has its own callback thread. */
    struct seen by_threads[2];
    memset(by_threads, 0, sizeof by_threads);
    opscope_callback_thread_t own;
    OK(opscope_callback_thread_create("own", &own));
    opscope_buffer_options_t options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.bytes = 64 * 1024;
    options.watermark = 4 * 1024;
    opscope_buffer_t buffers[2];
    OK(opscope_buffer_create(&options, count, &by_threads[0], &buffers[0]));
    options.thread = own;
    OK(opscope_buffer_create(&options, count, &by_threads[1], &buffers[1]));
    OK(opscope_callback_thread_free(own));
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, emit_many, buffers) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < 2; i++)
        OK(opscope_buffer_destroy(buffers[i]));
    printf("two threads: %llu and %llu records\n", (unsigned long long)by_threads[0].own,
           (unsigned long long)by_threads[1].own);

    /* Records that do not fit are dropped and counted. */
    uint64_t callbacks = 0;
    options.thread.id = 0;
    options.bytes = 4096;
    options.watermark = 4096;
    options.policy = OPSCOPE_DISCARD;
    OK(opscope_buffer_create(&options, ignore, &callbacks, &buffer));
    for (int i = 0; i < 1000; i++)
        OK(opscope_buffer_emit(buffer, 7, 42, payload, sizeof payload));
    OK(opscope_buffer_flush_within(buffer, 60ull * 1000 * 1000 * 1000));
    OK(opscope_buffer_statistics(buffer, &all));
    CHECK(all.emitted == 1000 && all.delivered + all.dropped == 1000 && all.dropped > 0 && callbacks > 0);
    OK(opscope_buffer_destroy(buffer));
    OK(opscope_context_destroy(context));
    IS(opscope_context_start(context), OPSCOPE_ERROR_INVALID_HANDLE);

    printf("%s, %s, %s\n", opscope_kind_name(OPSCOPE_TENSOR_COPY), opscope_operation_name(OPSCOPE_TENSOR_COPY, 1),
           opscope_operation_name(OPSCOPE_TENSOR_COPY, 9) == NULL ? "none" : "?");
    return 0;
}
