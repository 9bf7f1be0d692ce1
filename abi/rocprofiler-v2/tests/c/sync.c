/* Callbacks for API calls: the record by value, once for each call, on the thread that makes it. */
#include "tool.h"

#include <roctracer/roctracer_roctx.h>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif
void roctxMarkA(const char *message);
int roctxRangePushA(const char *message);
int roctxRangePop(void);
roctx_range_id_t roctxRangeStartA(const char *message);
void roctxRangeStop(roctx_range_id_t id);
#ifdef __cplusplus
}
#endif

typedef struct {
    uint32_t operation;
    uint64_t external_id, thread;
    const char *message;
} call_t;

static call_t calls[64];
static int count, others, batches;
static uint64_t last_id;
static rocprofiler_session_id_t expected;

static void on_call(rocprofiler_record_tracer_t record, rocprofiler_session_id_t session)
{
    CHECK(session.handle == expected.handle);
    CHECK(record.header.kind == ROCPROFILER_TRACER_RECORD);
    CHECK(count == 0 || record.header.id.handle > last_id);
    last_id = record.header.id.handle;
    CHECK(record.domain == ACTIVITY_DOMAIN_ROCTX && record.phase == ROCPROFILER_PHASE_ENTER);
    CHECK(record.timestamps.end.value == 0 && record.correlation_id.value == 0);
    CHECK(record.agent_id.handle == 0 && record.queue_id.handle == 0 && record.name == NULL);
    rocprofiler_timestamp_t time = {0};
    OK(rocprofiler_get_timestamp(&time));
    CHECK(record.timestamps.begin.value <= time.value && time.value - record.timestamps.begin.value < 60000000000);
    CHECK(record.thread_id.value == (uint32_t)syscall(SYS_gettid));
    CHECK(record.api_data.roctx != NULL);
    const struct roctx_api_data_s *data = record.api_data.roctx;
    CHECK(data->args.id == record.external_id.id || record.operation_id.id < ROCTX_API_ID_roctxRangeStartA);
    int has_message = record.operation_id.id != ROCTX_API_ID_roctxRangePop
        && record.operation_id.id != ROCTX_API_ID_roctxRangeStop;
    call_t call = {record.operation_id.id, record.external_id.id, record.thread_id.value,
                   has_message ? data->args.message : NULL};
    calls[count++] = call;
    /* The callback may make queries, end ranges, and change the session's buffers. */
    rocprofiler_buffer_id_t missing = {99};
    FAILS(rocprofiler_flush_data(session, missing), BUFFER_NOT_FOUND);
}

static void on_other(rocprofiler_record_tracer_t record, rocprofiler_session_id_t session)
{
    (void)record;
    (void)session;
    others++;
}

static void on_last(rocprofiler_record_tracer_t record, rocprofiler_session_id_t session)
{
    (void)record;
    others++;
    OK(rocprofiler_terminate_session(session));
    OK(rocprofiler_destroy_session(session));
}

static void on_batch(record_t begin, record_t end, rocprofiler_session_id_t session, rocprofiler_buffer_id_t buffer)
{
    (void)begin;
    (void)end;
    (void)session;
    (void)buffer;
    batches++;
}

static void *elsewhere(void *nothing)
{
    roctxMarkA("elsewhere");
    return nothing;
}

static void is(int index, uint32_t operation, uint64_t external_id, const char *message)
{
    CHECK(calls[index].operation == operation && calls[index].external_id == external_id);
    CHECK(calls[index].message == message);
    CHECK(calls[index].thread == (uint32_t)syscall(SYS_gettid));
}

int main(void)
{
    OK(rocprofiler_initialize());
    rocprofiler_session_id_t session = {0};
    OK(rocprofiler_create_session(ROCPROFILER_NONE_REPLAY_MODE, &session));
    expected = session;
    rocprofiler_filter_id_t filter = filter_of(session, ROCPROFILER_API_TRACE, ACTIVITY_DOMAIN_ROCTX);
    OK(rocprofiler_set_api_trace_sync_callback(session, filter, on_other));
    OK(rocprofiler_set_api_trace_sync_callback(session, filter, on_call));
    rocprofiler_filter_id_t other_calls = filter_of(session, ROCPROFILER_API_TRACE, ACTIVITY_DOMAIN_HIP_API);
    FAILS(rocprofiler_start_session(session), SESSION_MISSING_BUFFER);
    OK(rocprofiler_set_api_trace_sync_callback(session, other_calls, on_other));
    /* Calls need no buffer then. */
    OK(rocprofiler_start_session(session));

    static const char mark[] = "mark", push[] = "push", start[] = "start";
    roctxMarkA(mark);
    CHECK(roctxRangePushA(push) == 0);
    CHECK(roctxRangePop() == 0);
    roctx_range_id_t first = roctxRangeStartA(start), second = roctxRangeStartA(NULL);
    roctxRangeStop(first);
    roctxRangeStop(second);
    CHECK(count == 7 && others == 0 && first != second);
    is(0, ROCTX_API_ID_roctxMarkA, 0, mark);
    is(1, ROCTX_API_ID_roctxRangePushA, 0, push);
    is(2, ROCTX_API_ID_roctxRangePop, 0, NULL);
    is(3, ROCTX_API_ID_roctxRangeStartA, first, start);
    is(4, ROCTX_API_ID_roctxRangeStartA, second, NULL);
    is(5, ROCTX_API_ID_roctxRangeStop, first, NULL);
    is(6, ROCTX_API_ID_roctxRangeStop, second, NULL);

    pthread_t other;
    CHECK(pthread_create(&other, NULL, elsewhere, NULL) == 0 && pthread_join(other, NULL) == 0);
    CHECK(count == 8 && strcmp(calls[7].message, "elsewhere") == 0 && calls[7].thread != calls[6].thread);
    OK(rocprofiler_terminate_session(session));
    roctxMarkA("after");
    CHECK(count == 8);

    /* A filter with a callback and a buffer: its calls go to the callback alone. */
    rocprofiler_buffer_id_t buffer = {0};
    OK(rocprofiler_create_buffer(session, on_batch, 4096, &buffer));
    OK(rocprofiler_set_filter_buffer(session, filter, buffer));
    OK(rocprofiler_start_session(session));
    roctxMarkA("again");
    CHECK(count == 9);
    OK(rocprofiler_flush_data(session, buffer));
    CHECK(batches == 0);
    OK(rocprofiler_destroy_session(session));
    roctxMarkA("after");
    CHECK(count == 9);

    /* A ready session, whose callback ends it. */
    rocprofiler_tracer_activity_domain_t domain = ACTIVITY_DOMAIN_ROCTX;
    OK(rocprofiler_create_ready_session(ROCPROFILER_NONE_REPLAY_MODE, ROCPROFILER_API_TRACE, data_of(&domain), 1, 4096,
                                        on_batch, &session, no_property(), on_last));
    OK(rocprofiler_start_session(session));
    roctxMarkA("the only one");
    roctxMarkA("not any more");
    CHECK(others == 1 && batches == 0);
    FAILS(rocprofiler_terminate_session(session), SESSION_NOT_FOUND);
    OK(rocprofiler_finalize());
    return 0;
}
