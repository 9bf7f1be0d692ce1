// Exceptions that callbacks throw. They end where the library called the callback. The library reports them, and
// nothing else changes.
#include "tool.h"

#include <roctracer/roctx.h>

#include <stdexcept>
#include <string>

static int batches, calls;

static void throws_in_batch(record_t begin, record_t end, rocprofiler_session_id_t session,
                            rocprofiler_buffer_id_t buffer)
{
    const std::string kept = "something with a destructor";
    batches++;
    CHECK(after(begin, session, buffer) == end);
    if (batches == 1)
        throw std::runtime_error(kept);
    if (batches == 2)
        throw 42;
}

static void throws_in_call(rocprofiler_record_tracer_t record, rocprofiler_session_id_t)
{
    calls++;
    if (record.operation_id.id == 0)
        throw std::string("of a call");
}

int main()
{
    OK(rocprofiler_initialize());
    traced_t traced = create_roctx(4096, throws_in_batch);
    OK(rocprofiler_start_session(traced.session));
    for (int i = 1; i <= 4; i++) {
        roctxMarkA("a mark");
        OK(flush(traced));
        CHECK(batches == i);
    }
    OK(rocprofiler_terminate_session(traced.session));
    OK(rocprofiler_set_api_trace_sync_callback(traced.session, traced.filter, throws_in_call));
    OK(rocprofiler_start_session(traced.session));
    try {
        roctxMarkA("a mark");
        CHECK(roctxRangePushA("a range") == 0);
        CHECK(roctxRangePop() == 0);
    } catch (...) {
        CHECK(!"an exception reached the program");
    }
    CHECK(calls == 3 && batches == 4);
    OK(rocprofiler_destroy_session(traced.session));
    OK(rocprofiler_finalize());
    return 0;
}
