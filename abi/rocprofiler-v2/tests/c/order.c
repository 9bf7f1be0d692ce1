/* The order of calls that tools follow, with the flush before and after the end of the session,
    and sessions that outlive
   the library's use. */
#include "tool.h"

#include <roctracer/roctx.h>

static int records, batches;
static traced_t expected;

static void on_batch(record_t begin, record_t end, rocprofiler_session_id_t session, rocprofiler_buffer_id_t buffer)
{
    CHECK(session.handle == expected.session.handle && buffer.value == expected.buffer.value);
    batches++;
    /* The loop that tools have. */
    while (begin < end) {
        if (!begin)
            break;
        switch (begin->kind) {
        case ROCPROFILER_TRACER_RECORD:
            CHECK(strcmp(TRACER(begin)->name, "mark") == 0);
            records++;
            break;
        default:
            CHECK(!"a record of another kind");
        }
        OK(rocprofiler_next_record(begin, &begin, session, buffer));
    }
    CHECK(begin == end);
}

static void mark(int count)
{
    for (int i = 0; i < count; i++)
        roctxMarkA("mark");
}

static void delivered(int expected_records, int expected_batches)
{
    CHECK(records == expected_records && batches == expected_batches);
    records = batches = 0;
}

int main(void)
{
    OK(rocprofiler_initialize());
    for (int round = 0; round < 3; round++) {
        expected = create_roctx(1 << 16, on_batch);
        /* An empty buffer, before and after the session began. */
        OK(flush(expected));
        OK(rocprofiler_start_session(expected.session));
        OK(flush(expected));
        delivered(0, 0);
        mark(10);
        if (round == 0) {
            OK(flush(expected));
            delivered(10, 1);
            OK(rocprofiler_terminate_session(expected.session));
            OK(flush(expected));
        } else if (round == 1) {
            OK(rocprofiler_terminate_session(expected.session));
            delivered(0, 0);
            OK(flush(expected));
            delivered(10, 1);
        } else {
            /* There was neither a flush nor an end of the session: destroying the buffer delivers the records. */
            OK(rocprofiler_destroy_buffer(expected.session, expected.buffer));
            delivered(10, 1);
            mark(1);
            OK(rocprofiler_terminate_session(expected.session));
        }
        OK(rocprofiler_destroy_session(expected.session));
        delivered(0, 0);
    }

    /* A session outlives the library's use, and works after it. */
    expected = create_roctx(1 << 16, on_batch);
    OK(rocprofiler_start_session(expected.session));
    mark(3);
    OK(rocprofiler_finalize());
    FAILS(flush(expected), NOT_INITIALIZED);
    delivered(0, 0);
    OK(rocprofiler_initialize());
    OK(flush(expected));
    delivered(3, 1);
    mark(2);
    OK(rocprofiler_terminate_session(expected.session));
    OK(flush(expected));
    delivered(2, 1);

    /* Two buffers of a session: each filter's records go where it says, from the next start on. */
    rocprofiler_buffer_id_t first = expected.buffer, second = {0};
    OK(rocprofiler_create_buffer(expected.session, on_batch, 4096, &second));
    OK(rocprofiler_set_filter_buffer(expected.session, expected.filter, second));
    OK(rocprofiler_start_session(expected.session));
    mark(4);
    OK(rocprofiler_flush_data(expected.session, first));
    delivered(0, 0);
    expected.buffer = second;
    OK(flush(expected));
    delivered(4, 1);
    OK(rocprofiler_terminate_session(expected.session));
    OK(rocprofiler_destroy_session(expected.session));

    /* A ready session has its buffer under the first number. */
    rocprofiler_tracer_activity_domain_t domains[] = {ACTIVITY_DOMAIN_HIP_API, ACTIVITY_DOMAIN_ROCTX};
    OK(rocprofiler_create_ready_session(ROCPROFILER_NONE_REPLAY_MODE, ROCPROFILER_API_TRACE, data_of(domains), 2, 4096,
                                        on_batch, &expected.session, no_property(), NULL));
    expected.buffer.value = 1;
    OK(rocprofiler_start_session(expected.session));
    mark(5);
    OK(rocprofiler_terminate_session(expected.session));
    OK(flush(expected));
    delivered(5, 1);
    OK(rocprofiler_destroy_session(expected.session));
    OK(rocprofiler_finalize());
    return 0;
}
