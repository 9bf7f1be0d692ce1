/* Calls from inside of a buffer's callback: flushing, emitting, ending and destroying. None hangs,
    and nothing is lost. */
#include "tool.h"

#include <roctracer/roctx.h>

#include <pthread.h>

/* This is more than one callback receives. */
#define RECORDS 3000

typedef void (*action_t)(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static action_t action;
static int records, batches, left;
static traced_t traced;

static void flush_it(void)
{
    for (int i = 0; i < 3; i++)
        OK(flush(traced));
}

static void emit(void)
{
    if (left-- > 0) {
        roctxMarkA("of the callback");
        OK(flush(traced));
    }
}

static void terminate(void)
{
    if (batches == 0)
        OK(rocprofiler_terminate_session(traced.session));
    OK(flush(traced));
}

static void destroy_buffer(void)
{
    if (batches == 0)
        OK(rocprofiler_destroy_buffer(traced.session, traced.buffer));
    FAILS(flush(traced), BUFFER_NOT_FOUND);
    FAILS(rocprofiler_destroy_buffer(traced.session, traced.buffer), BUFFER_NOT_FOUND);
}

static void destroy_session(void)
{
    if (batches == 0)
        OK(rocprofiler_destroy_session(traced.session));
    FAILS(flush(traced), SESSION_NOT_FOUND);
    FAILS(rocprofiler_terminate_session(traced.session), SESSION_NOT_FOUND);
}

static void initialize_again(void)
{
    OK(rocprofiler_finalize());
    FAILS(flush(traced), NOT_INITIALIZED);
    OK(rocprofiler_initialize());
}

/* Stepping from record to record works until the callback returns, after the end of the library's use, too. */
static void finalize(void)
{
    if (batches == 0)
        OK(rocprofiler_finalize());
    FAILS(flush(traced), NOT_INITIALIZED);
}

static void change_interval(void)
{
    OK(set_interval(traced, 1));
    OK(set_interval(traced, 0));
}

static void make_another(void);

static void on_batch(record_t begin, record_t end, rocprofiler_session_id_t session, rocprofiler_buffer_id_t buffer)
{
    int count = 0;
    for (; begin < end; begin = after(begin, session, buffer))
        /* Early, so that next_record is called afterwards, too. */
        if (++count == 1)
            action();
    pthread_mutex_lock(&lock);
    records += count;
    batches++;
    pthread_cond_broadcast(&arrived);
    pthread_mutex_unlock(&lock);
}

static void make_another(void)
{
    /* All of another session's life. */
    traced_t other = create_roctx(4096, on_batch);
    OK(flush(other));
    FAILS(rocprofiler_start_session(other.session), HAS_ACTIVE_SESSION);
    OK(rocprofiler_destroy_buffer(other.session, other.buffer));
    OK(rocprofiler_destroy_session(other.session));
}

static void wait_for(int expected)
{
    pthread_mutex_lock(&lock);
    while (records < expected)
        pthread_cond_wait(&arrived, &lock);
    CHECK(records == expected);
    pthread_mutex_unlock(&lock);
}

static void run(action_t what, int extra)
{
    action = what;
    records = batches = 0;
    left = extra;
    traced = create_roctx(1 << 20, on_batch);
    OK(rocprofiler_start_session(traced.session));
    for (int i = 0; i < RECORDS; i++)
        roctxMarkA("a mark");
    rocprofiler_status_t status = flush(traced);
    CHECK(status == ROCPROFILER_STATUS_SUCCESS || what == destroy_session || what == destroy_buffer);
    wait_for(RECORDS + extra);
    CHECK(batches > 1);
    if (what == finalize)
        OK(rocprofiler_initialize());
    if (what == destroy_session) {
        FAILS(flush(traced), SESSION_NOT_FOUND);
        return;
    }
    if (what == destroy_buffer)
        FAILS(flush(traced), BUFFER_NOT_FOUND);
    else
        OK(flush(traced));
    OK(rocprofiler_destroy_session(traced.session));
    wait_for(RECORDS + extra);
    /* Stepping is over, too. */
    rocprofiler_record_header_t record = {ROCPROFILER_TRACER_RECORD, {0}};
    record_t next = NULL;
    FAILS(rocprofiler_next_record(&record, &next, traced.session, traced.buffer), SESSION_NOT_FOUND);
}

/* A callback that emits more than fits into the buffer. Records for which only its own return could free space are
 * delivered after its batch. */
static void overfill(void)
{
    if (left-- > 0)
        for (int i = 0; i < 1000; i++)
            roctxMarkA("of the callback");
}

static void more_than_the_buffer_holds(void)
{
    action = overfill;
    records = batches = 0;
    left = 1;
    traced = create_roctx(4096, on_batch);
    OK(rocprofiler_start_session(traced.session));
    roctxMarkA("a mark");
    OK(flush(traced));
    OK(flush(traced));
    CHECK(records == 1001);
    int before = records;
    for (int i = 0; i < 1000; i++)
        roctxMarkA("a mark");
    OK(flush(traced));
    CHECK(records == before + 1000);
    OK(rocprofiler_destroy_session(traced.session));
}

/* Emits while the session ends. */

static volatile int ends, is_gone;

static void *emit_until_the_end(void *nothing)
{
    while (!ends)
        roctxMarkA("a mark");
    return nothing;
}

static void before_the_end(record_t begin, record_t end, rocprofiler_session_id_t session,
                           rocprofiler_buffer_id_t buffer)
{
    CHECK(!__atomic_load_n(&is_gone, __ATOMIC_ACQUIRE));
    for (; begin < end; begin = after(begin, session, buffer))
        CHECK(TRACER(begin)->name != NULL);
    CHECK(!__atomic_load_n(&is_gone, __ATOMIC_ACQUIRE));
}

static void nothing_comes_after_the_end(int round)
{
    ends = is_gone = 0;
    traced = create_roctx(round % 2 == 0 ? 4096 : 1 << 20, before_the_end);
    OK(set_interval(traced, 1));
    OK(rocprofiler_start_session(traced.session));
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, emit_until_the_end, NULL) == 0);
    OK(flush(traced));
    if (round % 3 == 0)
        OK(rocprofiler_terminate_session(traced.session));
    if (round % 3 == 1)
        OK(rocprofiler_destroy_buffer(traced.session, traced.buffer));
    else
        OK(rocprofiler_destroy_session(traced.session));
    __atomic_store_n(&is_gone, 1, __ATOMIC_RELEASE);
    /* The threads continue for a while, but their records are not stored. */
    for (int i = 0; i < 1000; i++)
        roctxMarkA("after the end");
    ends = 1;
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    if (round % 3 == 1)
        OK(rocprofiler_destroy_session(traced.session));
}

int main(void)
{
    OK(rocprofiler_initialize());
    run(flush_it, 0);
    run(emit, 100);
    run(terminate, 0);
    run(destroy_buffer, 0);
    run(destroy_session, 0);
    run(initialize_again, 0);
    run(finalize, 0);
    run(change_interval, 0);
    run(make_another, 0);
    more_than_the_buffer_holds();
    for (int round = 0; round < 30; round++)
        nothing_comes_after_the_end(round);
    OK(rocprofiler_finalize());
    return 0;
}
