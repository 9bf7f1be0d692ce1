/* A million records of several threads through buffers of two sizes: none is lost, none comes twice, and those of each
   thread are in order. */
#include "tool.h"

#include <roctracer/roctx.h>

#include <pthread.h>

#define THREADS 4
#define MILLION 1000000

static uint64_t seen[THREADS];
static uint64_t batches, last_id;
static int has_id;
static unsigned each;

static void count(record_t begin, record_t end, rocprofiler_session_id_t session, rocprofiler_buffer_id_t buffer)
{
    batches++;
    record_t at = begin;
    for (; at < end; at = after(at, session, buffer)) {
        unsigned thread, number;
        CHECK(sscanf(TRACER(at)->name, "%u %u", &thread, &number) == 2 && thread < THREADS);
        /* The records come in order, so each comes exactly once. */
        CHECK(number == seen[thread]);
        seen[thread]++;
        CHECK(!has_id || at->id.handle > last_id);
        last_id = at->id.handle;
        has_id = 1;
    }
    CHECK(at == end);
}

static void *emit(void *argument)
{
    unsigned thread = *(unsigned *)argument;
    char text[64];
    for (unsigned number = 0; number < each; number++) {
        /* Of several lengths, so that records differ in size. */
        snprintf(text, sizeof text, "%u %u%.*s", thread, number, (int)(number % 40),
                 " and what follows to make it longer than it is");
        roctxMarkA(text);
    }
    return NULL;
}

static void run(size_t size, unsigned records)
{
    each = records / THREADS;
    memset(seen, 0, sizeof seen);
    batches = 0;
    traced_t traced = create_roctx(size, count);
    OK(rocprofiler_start_session(traced.session));
    pthread_t threads[THREADS];
    unsigned numbers[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, emit, &numbers[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    OK(rocprofiler_terminate_session(traced.session));
    /* Delivers the records that a full buffer did not deliver by itself. */
    OK(flush(traced));
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(seen[i] == each);
    CHECK(batches > 1);
    OK(rocprofiler_destroy_session(traced.session));
}

int main(void)
{
    OK(rocprofiler_initialize());
    run(4096, MILLION);
    run((size_t)64 << 20, MILLION);
    /* Smaller than any record. */
    run(1, 10000);
    OK(rocprofiler_finalize());
    return 0;
}
