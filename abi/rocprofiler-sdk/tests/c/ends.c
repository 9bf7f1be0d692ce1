/*
 * The process ends while a tool is active. The argument says when: "initialization", and then the tool is not
 * finalized; "fork", when its finalization creates a child that exits, and that exit does not wait; or "hang", when
 * another thread is in a finalization that never returns, for which the exit waits once.
 */
static void make(void);
static void finish(void);
#define TOOL_INITIALIZE make
#define TOOL_FINALIZE finish
#include "tool.h"

#include <sched.h>
#include <time.h>

static const char *where;
enum { BUFFERS = 30 };

static rocprofiler_buffer_id_t buffers[BUFFERS];
static pid_t process;
static int is_inside;

static void take(rocprofiler_context_id_t context, rocprofiler_buffer_id_t of, rocprofiler_record_header_t **headers,
                 size_t count, void *data, uint64_t drop_count)
{
    (void)context, (void)of, (void)headers, (void)count, (void)data, (void)drop_count;
    CHECK(strcmp(where, "initialization") != 0);
}

static void make(void)
{
    rocprofiler_context_id_t context = new_context();
    uint64_t payload = 0;
    process = getpid();
    OK(rocprofiler_start_context(context));
    for (int i = 0; i < BUFFERS; i++) {
        buffers[i] = new_buffer(context, 4096, 4096, ROCPROFILER_BUFFER_POLICY_LOSSLESS, take, NULL);
        OK(opscope_rocprofiler_emit(buffers[i], OWN_CATEGORY, 0, &payload, sizeof payload));
    }
    if (strcmp(where, "initialization") == 0)
        exit(0);
}

static void finish(void)
{
    if (strcmp(where, "hang") == 0) {
        __atomic_store_n(&is_inside, 1, __ATOMIC_RELEASE);
        for (;;)
            pause();
    }
    CHECK(strcmp(where, "fork") == 0 && getpid() == process);
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        exit(0);
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    /* It would wait 5 seconds for a thread that it does not have. */
    CHECK(end.tv_sec - begin.tv_sec < 5);
}

static void *end_the_tool(void *nothing)
{
    finalize_client(*client);
    return nothing;
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    where = arguments[1];
    begin();
    CHECK(strcmp(where, "initialization") != 0);
    if (strcmp(where, "hang") == 0) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, end_the_tool, NULL) == 0);
        while (!__atomic_load_n(&is_inside, __ATOMIC_ACQUIRE))
            sched_yield();
    }
    return 0;
}
