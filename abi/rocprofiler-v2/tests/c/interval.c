/* The flush interval: records arrive by themselves, beside explicit flushes, with intervals that change and end. */
#include "tool.h"

#include <roctracer/roctx.h>

#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static unsigned records, in_callbacks;

static void on_batch(record_t begin, record_t end, rocprofiler_session_id_t session, rocprofiler_buffer_id_t buffer)
{
    pthread_mutex_lock(&lock);
    CHECK(++in_callbacks == 1);
    for (; begin < end; begin = after(begin, session, buffer)) {
        unsigned number;
        CHECK(sscanf(TRACER(begin)->name, "%u", &number) == 1 && number == records);
        records++;
    }
    in_callbacks--;
    pthread_cond_broadcast(&arrived);
    pthread_mutex_unlock(&lock);
}

static unsigned emitted;

static void emit(void)
{
    char text[32];
    snprintf(text, sizeof text, "%u", emitted++);
    roctxMarkA(text);
}

/* Waits until everything arrived without a flush. If it never does, the test's time runs out. */
static void comes_by_itself(void)
{
    pthread_mutex_lock(&lock);
    while (records < emitted)
        pthread_cond_wait(&arrived, &lock);
    CHECK(records == emitted);
    pthread_mutex_unlock(&lock);
}

static unsigned received(void)
{
    pthread_mutex_lock(&lock);
    unsigned now = records;
    pthread_mutex_unlock(&lock);
    return now;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *flush_again_and_again(void *argument)
{
    const traced_t *traced = (const traced_t *)argument;
    for (int i = 0; i < 200; i++)
        OK(flush(*traced));
    return NULL;
}

int main(void)
{
    OK(rocprofiler_initialize());
    traced_t traced = create_roctx(1 << 20, on_batch);

    /* The interval is set before the session begins. Nothing is delivered before it has passed: it counts from the
     * first record at the earliest. */
    OK(set_interval(traced, 50));
    OK(rocprofiler_start_session(traced.session));
    double begin = seconds();
    emit();
    comes_by_itself();
    double took = seconds() - begin;
    CHECK(took < 60);
    for (int round = 0; round < 5; round++) {
        emit();
        emit();
        comes_by_itself();
    }

    /* Another interval, while the session is active. */
    OK(set_interval(traced, 1));
    for (int round = 0; round < 20; round++) {
        emit();
        comes_by_itself();
    }

    /* Several threads flush meanwhile. Each record is delivered once and in order. */
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, flush_again_and_again, &traced) == 0);
    for (int i = 0; i < 20000; i++)
        emit();
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    OK(flush(traced));
    CHECK(received() == emitted);

    /* A long interval, and none at all: only a flush delivers. */
    uint64_t quiet[] = {UINT64_MAX, 3600000, 0};
    for (int i = 0; i < 3; i++) {
        OK(set_interval(traced, quiet[i]));
        unsigned before = received();
        emit();
        CHECK(received() == before);
        OK(flush(traced));
        CHECK(received() == emitted);
    }

    /* If the same interval is set again and again, waiting records are still delivered. */
    OK(set_interval(traced, 50));
    emit();
    while (received() < emitted)
        OK(set_interval(traced, 50));
    OK(set_interval(traced, 0));

    /* The interval changes from none to a short one. Records that were already waiting are delivered, too. */
    emit();
    OK(set_interval(traced, 1));
    comes_by_itself();

    /* A session that has ended still delivers, and its end ends the interval. */
    emit();
    OK(rocprofiler_terminate_session(traced.session));
    comes_by_itself();
    OK(rocprofiler_start_session(traced.session));
    emit();
    OK(rocprofiler_destroy_session(traced.session));
    CHECK(received() == emitted);
    OK(rocprofiler_finalize());
    return 0;
}
