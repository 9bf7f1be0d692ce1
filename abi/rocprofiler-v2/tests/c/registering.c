/*
 * A ROCTx runtime that calls its listener while that is registered or removed, as a runtime that reports earlier calls
 * may do. The tool's callback ends its session, starts it again, and waits for a thread that does: nothing hangs.
 */
#include "tool.h"

#include <pthread.h>

typedef int (*listener_t)(int domain, uint32_t operation, void *data);

static listener_t listener;
static rocprofiler_session_id_t session;
static int calls, acts;

static void tell(listener_t to)
{
    struct {
        const char *message;
        uint64_t id;
    } data = {"a mark", 0};
    to(6, 0, &data);
}

/* The library finds this one, because the program exports it. */
#ifdef __cplusplus
extern "C"
#endif
void roctxRegisterTracerCallback(listener_t callback)
{
    listener_t before = listener;
    listener = callback;
    tell(callback != NULL ? callback : before);
}

static void *end_and_start(void *nothing)
{
    OK(rocprofiler_terminate_session(session));
    OK(rocprofiler_start_session(session));
    return nothing;
}

static void called(rocprofiler_record_tracer_t record, rocprofiler_session_id_t of)
{
    CHECK(of.handle == session.handle && record.operation_id.id == 0);
    calls++;
    if (acts == 1) {
        acts = 0;
        end_and_start(NULL);
    } else if (acts == 2) {
        acts = 0;
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, end_and_start, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
}

int main(void)
{
    OK(rocprofiler_initialize());
    OK(rocprofiler_create_session(ROCPROFILER_NONE_REPLAY_MODE, &session));
    rocprofiler_filter_id_t filter = filter_of(session, ROCPROFILER_API_TRACE, ACTIVITY_DOMAIN_ROCTX);
    OK(rocprofiler_set_api_trace_sync_callback(session, filter, called));
    for (int how = 0; how < 3; how++) {
        acts = how;
        OK(rocprofiler_start_session(session));
        int before = calls;
        CHECK(before > 0 && acts == 0);
        /* It listens, whatever happened meanwhile. */
        CHECK(listener != NULL);
        tell(listener);
        CHECK(calls == before + 1);
        OK(rocprofiler_terminate_session(session));
        CHECK(listener == NULL && calls == before + 1);
        calls = 0;
    }
    OK(rocprofiler_finalize());
    return 0;
}
