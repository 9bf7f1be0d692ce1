/*
 * The properties of a buffer: an array of structures, each with a kind and a value. Sessions that
 * rocprofiler_create_session or rocprofiler_create_ready_session creates have no interval. Only the property of a
 * buffer sets it.
 */
#include "tool.h"

#include <roctracer/roctx.h>

#include <pthread.h>

#define INTERVAL ROCPROFILER_BUFFER_PROPERTY_KIND_INTERVAL_FLUSH

/* The function has parameters for a mode and for the session, but none for an interval. */
static rocprofiler_status_t (*const create_session)(rocprofiler_replay_mode_t,
                                                    rocprofiler_session_id_t *) = rocprofiler_create_session;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
/* By the number of the buffer in its session. */
static unsigned records[4], batches[4];

static void take(record_t begin, record_t end, rocprofiler_session_id_t session, rocprofiler_buffer_id_t buffer)
{
    pthread_mutex_lock(&lock);
    for (; begin < end; begin = after(begin, session, buffer))
        records[buffer.value]++;
    batches[buffer.value]++;
    pthread_cond_broadcast(&arrived);
    pthread_mutex_unlock(&lock);
}

static void wait_for(unsigned buffer, unsigned count)
{
    pthread_mutex_lock(&lock);
    while (records[buffer] < count)
        pthread_cond_wait(&arrived, &lock);
    pthread_mutex_unlock(&lock);
}

static unsigned received(unsigned buffer)
{
    pthread_mutex_lock(&lock);
    unsigned now = records[buffer];
    pthread_mutex_unlock(&lock);
    return now;
}

/* Records in one session's buffer keep waiting while those in another session's buffer are delivered at its
 * interval. */
static void stays_while_others_come(traced_t quiet, traced_t restless)
{
    memset(records, 0, sizeof records);
    OK(rocprofiler_start_session(quiet.session));
    roctxMarkA("stays");
    OK(rocprofiler_terminate_session(quiet.session));
    OK(rocprofiler_start_session(restless.session));
    CHECK(quiet.buffer.value != restless.buffer.value);
    for (unsigned round = 1; round <= 20; round++) {
        roctxMarkA("comes");
        wait_for((unsigned)restless.buffer.value, round);
    }
    OK(rocprofiler_terminate_session(restless.session));
    CHECK(received((unsigned)quiet.buffer.value) == 0);
}

int main(void)
{
    OK(rocprofiler_initialize());

    /* Two buffers with different numbers, each in its own session. */
    traced_t quiet, restless;
    memset(&quiet, 0, sizeof quiet);
    OK(create_session(ROCPROFILER_NONE_REPLAY_MODE, &quiet.session));
    quiet.filter = filter_of(quiet.session, ROCPROFILER_API_TRACE, ACTIVITY_DOMAIN_ROCTX);
    OK(rocprofiler_create_buffer(quiet.session, take, 1 << 16, &quiet.buffer));
    OK(rocprofiler_destroy_buffer(quiet.session, quiet.buffer));
    OK(rocprofiler_create_buffer(quiet.session, take, 1 << 16, &quiet.buffer));
    CHECK(quiet.buffer.value == 2);
    OK(rocprofiler_set_filter_buffer(quiet.session, quiet.filter, quiet.buffer));
    restless = create_roctx(1 << 16, take);

    /* A session as it was created: its records come with a flush and not before. */
    OK(set_interval(restless, 1));
    stays_while_others_come(quiet, restless);
    OK(flush(quiet));
    CHECK(received(2) == 1);

    /* Of several properties of the same kind the last one counts, so each element of the array is read. */
    rocprofiler_buffer_property_t last_is_none[3] = {{INTERVAL, 1}, {INTERVAL, 2}, {INTERVAL, 0}};
    OK(rocprofiler_set_buffer_properties(quiet.session, quiet.buffer, last_is_none, 3));
    stays_while_others_come(quiet, restless);
    OK(flush(quiet));
    CHECK(received(2) == 1);
    rocprofiler_buffer_property_t last_is_short[2] = {{INTERVAL, 0}, {INTERVAL, 1}};
    OK(rocprofiler_set_buffer_properties(quiet.session, quiet.buffer, last_is_short, 2));
    OK(rocprofiler_start_session(quiet.session));
    roctxMarkA("comes now");
    wait_for(2, 2);
    OK(rocprofiler_terminate_session(quiet.session));

    /* Only as many properties are read as are passed. Without the last one, there is an interval. */
    OK(rocprofiler_set_buffer_properties(quiet.session, quiet.buffer, last_is_none, 2));
    OK(rocprofiler_start_session(quiet.session));
    roctxMarkA("comes, too");
    wait_for(2, 3);
    OK(rocprofiler_terminate_session(quiet.session));

    /* A kind that does not exist is refused wherever it stands, and then nothing is changed. */
    for (int place = 0; place < 3; place++) {
        rocprofiler_buffer_property_t wrong[3] = {{INTERVAL, 3600000}, {INTERVAL, 3600000}, {INTERVAL, 3600000}};
        int kind = place % 2 == 0 ? 1 : -1;
        memcpy(&wrong[place].kind, &kind, sizeof kind);
        FAILS(rocprofiler_set_buffer_properties(quiet.session, quiet.buffer, wrong, 3), INVALID_ARGUMENTS);
    }
    OK(rocprofiler_start_session(quiet.session));
    roctxMarkA("comes as before");
    wait_for(2, 4);
    OK(rocprofiler_terminate_session(quiet.session));
    OK(rocprofiler_destroy_session(quiet.session));

    /* A session that is made ready with one call has no interval either. */
    traced_t ready;
    memset(&ready, 0, sizeof ready);
    rocprofiler_tracer_activity_domain_t domain = ACTIVITY_DOMAIN_ROCTX;
    OK(rocprofiler_create_ready_session(ROCPROFILER_NONE_REPLAY_MODE, ROCPROFILER_API_TRACE, data_of(&domain), 1, 1 << 16,
                                        take, &ready.session, no_property(), NULL));
    ready.buffer.value = 1;
    OK(rocprofiler_destroy_session(restless.session));
    restless = create_roctx(1 << 16, take);
    OK(rocprofiler_create_buffer(restless.session, take, 1 << 16, &restless.buffer));
    OK(rocprofiler_set_filter_buffer(restless.session, restless.filter, restless.buffer));
    OK(set_interval(restless, 1));
    stays_while_others_come(ready, restless);
    OK(rocprofiler_destroy_session(ready.session));
    CHECK(received(1) == 1);
    OK(rocprofiler_destroy_session(restless.session));
    OK(rocprofiler_finalize());
    return 0;
}
