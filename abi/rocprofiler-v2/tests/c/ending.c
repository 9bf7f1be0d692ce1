/* Sessions with a callback for API calls that start and end while threads call: each callback gets its own session,
   and none is running when its session has ended. */
#include "tool.h"

#include <roctracer/roctx.h>

#include <pthread.h>
#include <sched.h>

#define THREADS 3
#define ROUNDS 400

static rocprofiler_session_id_t sessions[2];
static int alive[2], calls[2], ends;

static void takes(int which, rocprofiler_session_id_t session)
{
    CHECK(session.handle == sessions[which].handle);
    CHECK(__atomic_load_n(&alive[which], __ATOMIC_ACQUIRE));
    __atomic_add_fetch(&calls[which], 1, __ATOMIC_ACQ_REL);
    sched_yield();
    CHECK(__atomic_load_n(&alive[which], __ATOMIC_ACQUIRE));
}

static void on_first(rocprofiler_record_tracer_t record, rocprofiler_session_id_t session)
{
    (void)record;
    takes(0, session);
}

static void on_second(rocprofiler_record_tracer_t record, rocprofiler_session_id_t session)
{
    (void)record;
    takes(1, session);
}

static void *call(void *nothing)
{
    while (!__atomic_load_n(&ends, __ATOMIC_ACQUIRE))
        roctxMarkA("a mark");
    return nothing;
}

/* Runs in a session until it was called, and ends it. */
static void round_of(int which, int destroys)
{
    int before = __atomic_load_n(&calls[which], __ATOMIC_ACQUIRE);
    __atomic_store_n(&alive[which], 1, __ATOMIC_RELEASE);
    OK(rocprofiler_start_session(sessions[which]));
    while (__atomic_load_n(&calls[which], __ATOMIC_ACQUIRE) == before)
        sched_yield();
    OK(destroys ? rocprofiler_destroy_session(sessions[which]) : rocprofiler_terminate_session(sessions[which]));
    __atomic_store_n(&alive[which], 0, __ATOMIC_RELEASE);
}

/* Inside of a callback the end does not wait. */
static void on_own_end(rocprofiler_record_tracer_t record, rocprofiler_session_id_t session)
{
    (void)record;
    OK(rocprofiler_terminate_session(session));
    OK(rocprofiler_destroy_session(session));
    calls[0]++;
}

int main(void)
{
    OK(rocprofiler_initialize());
    for (int i = 0; i < 2; i++) {
        OK(rocprofiler_create_session(ROCPROFILER_NONE_REPLAY_MODE, &sessions[i]));
        rocprofiler_filter_id_t filter = filter_of(sessions[i], ROCPROFILER_API_TRACE, ACTIVITY_DOMAIN_ROCTX);
        OK(rocprofiler_set_api_trace_sync_callback(sessions[i], filter, i == 0 ? on_first : on_second));
    }
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, call, NULL) == 0);
    for (int round = 0; round < ROUNDS; round++)
        round_of(round % 2, 0);
    round_of(0, 1);
    round_of(1, 1);
    __atomic_store_n(&ends, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);

    rocprofiler_tracer_activity_domain_t domain = ACTIVITY_DOMAIN_ROCTX;
    rocprofiler_filter_id_t filter = {0};
    OK(rocprofiler_create_session(ROCPROFILER_NONE_REPLAY_MODE, &sessions[0]));
    OK(rocprofiler_create_filter(sessions[0], ROCPROFILER_API_TRACE, data_of(&domain), 1, &filter, no_property()));
    OK(rocprofiler_set_api_trace_sync_callback(sessions[0], filter, on_own_end));
    OK(rocprofiler_start_session(sessions[0]));
    int before = calls[0];
    roctxMarkA("the only one");
    roctxMarkA("not any more");
    CHECK(calls[0] == before + 1);
    OK(rocprofiler_finalize());
    return 0;
}
