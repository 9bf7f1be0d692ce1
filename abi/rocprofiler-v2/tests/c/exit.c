/* A tool that ends in its destructor, like the vendor's. By then, the exit of the process has delivered its records. */
#include "tool.h"

#include <roctracer/roctx.h>

#include <unistd.h>

static int records;
static traced_t traced;

static void on_batch(record_t begin, record_t end, rocprofiler_session_id_t session, rocprofiler_buffer_id_t buffer)
{
    for (; begin < end; begin = after(begin, session, buffer))
        records++;
}

__attribute__((destructor)) static void end(void)
{
    /* CHECK would call exit again. */
    if (rocprofiler_terminate_session(traced.session) != ROCPROFILER_STATUS_SUCCESS || records != 3)
        _exit(2);
    if (flush(traced) != ROCPROFILER_STATUS_SUCCESS)
        _exit(3);
    if (rocprofiler_destroy_session(traced.session) != ROCPROFILER_STATUS_SUCCESS
        || flush(traced) != ROCPROFILER_STATUS_ERROR_SESSION_NOT_FOUND
        || rocprofiler_finalize() != ROCPROFILER_STATUS_SUCCESS)
        _exit(4);
}

int main(void)
{
    OK(rocprofiler_initialize());
    traced = create_roctx(4096, on_batch);
    OK(rocprofiler_start_session(traced.session));
    for (int i = 0; i < 3; i++)
        roctxMarkA("a mark");
    return 0;
}
