/* A fork: the child has the sessions with empty buffers, which work, and the parent keeps what it had. */
#include "tool.h"

#include <roctracer/roctx.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static int records, batches, forks;
static volatile int ends;
static traced_t traced;

static void mark(int count)
{
    for (int i = 0; i < count; i++)
        roctxMarkA("a mark");
}

static void ends_well(pid_t child)
{
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void on_batch(record_t begin, record_t end, rocprofiler_session_id_t session, rocprofiler_buffer_id_t buffer);

/* The child has the batch, and the callback's buffer is destroyed in it: it accepts no records. Another buffer
 * works. */
static void child_of_callback(record_t begin, record_t end, rocprofiler_session_id_t session,
                              rocprofiler_buffer_id_t buffer)
{
    forks = records = 0;
    for (; begin < end; begin = after(begin, session, buffer))
        records++;
    CHECK(records == 4);
    mark(1);
    OK(flush(traced));
    CHECK(records == 4);
    OK(rocprofiler_destroy_session(session));
    traced = create_roctx(4096, on_batch);
    OK(rocprofiler_start_session(traced.session));
    mark(3);
    OK(flush(traced));
    CHECK(records == 7);
    OK(rocprofiler_destroy_session(traced.session));
    _exit(0);
}

static void on_batch(record_t begin, record_t end, rocprofiler_session_id_t session, rocprofiler_buffer_id_t buffer)
{
    batches++;
    if (forks) {
        pid_t child = fork();
        if (child == 0)
            child_of_callback(begin, end, session, buffer);
        ends_well(child);
    }
    for (; begin < end; begin = after(begin, session, buffer))
        records++;
}

/* Uses the library from another thread while the process forks: its locks are then held now and again. */
static void *use(void *nothing)
{
    while (!ends) {
        rocprofiler_session_id_t session = {0};
        rocprofiler_filter_id_t filter = {0};
        rocprofiler_tracer_operation_id_t operation = {0};
        rocprofiler_tracer_activity_domain_t domain = ACTIVITY_DOMAIN_ROCTX;
        OK(rocprofiler_create_session(ROCPROFILER_NONE_REPLAY_MODE, &session));
        OK(rocprofiler_create_filter(session, ROCPROFILER_API_TRACE, data_of(&domain), 1, &filter, no_property()));
        OK(rocprofiler_tracer_operation_id(domain, "roctxMarkA", &operation));
        OK(rocprofiler_destroy_session(session));
    }
    return nothing;
}

static void child_works(traced_t traced)
{
    records = batches = 0;
    FAILS(rocprofiler_initialize(), ALREADY_INITIALIZED);
    OK(flush(traced));
    CHECK(batches == 0);
    mark(7);
    OK(flush(traced));
    CHECK(records == 7);
    OK(rocprofiler_terminate_session(traced.session));
    traced_t own = create_roctx(4096, on_batch);
    OK(rocprofiler_start_session(own.session));
    mark(1000);
    OK(rocprofiler_terminate_session(own.session));
    OK(flush(own));
    CHECK(records == 1007);
    OK(rocprofiler_destroy_session(own.session));
    OK(rocprofiler_destroy_session(traced.session));
    OK(rocprofiler_finalize());
    _exit(0);
}

int main(void)
{
    OK(rocprofiler_initialize());
    traced = create_roctx(1 << 20, on_batch);
    OK(rocprofiler_start_session(traced.session));
    mark(5);
    pid_t child = fork();
    if (child == 0)
        child_works(traced);
    ends_well(child);
    OK(flush(traced));
    CHECK(records == 5 && batches == 1);

    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, use, NULL) == 0);
    for (int i = 0; i < 100; i++) {
        child = fork();
        if (child == 0)
            child_works(traced);
        ends_well(child);
    }
    ends = 1;
    CHECK(pthread_join(thread, NULL) == 0);
    mark(3);
    OK(rocprofiler_terminate_session(traced.session));
    OK(flush(traced));
    CHECK(records == 8);

    forks = 1;
    OK(rocprofiler_start_session(traced.session));
    mark(4);
    OK(flush(traced));
    CHECK(records == 12);
    OK(rocprofiler_destroy_session(traced.session));
    OK(rocprofiler_finalize());
    return 0;
}
