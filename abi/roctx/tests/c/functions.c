/* Every function without a profiler: results, NULL, threads, and a forked child. */
#include "check.h"

#include "rocprofiler-sdk-roctx/roctx.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void levels_begin_with_0(void)
{
    CHECK(roctxRangePop() == -1);
    CHECK(roctxRangePush("outer") == 0);
    CHECK(roctxRangePush("inner") == 1);
    CHECK(roctxRangePop() == 1);
    CHECK(roctxRangePush("inner again") == 1);
    CHECK(roctxRangePop() == 1);
    CHECK(roctxRangePop() == 0);
    CHECK(roctxRangePop() == -1);
    CHECK(roctxRangePop() == -1);
    CHECK(roctxRangePush("after too many") == 0);
    CHECK(roctxRangePop() == 0);
}

static void thread_number(void)
{
    roctx_thread_id_t thread = 0;
    CHECK(roctxGetThreadId(&thread) == 0);
    CHECK(thread == (roctx_thread_id_t)syscall(SYS_gettid));
}

static void *on_a_thread(void *unused)
{
    (void)unused;
    levels_begin_with_0();
    thread_number();
    return NULL;
}

int main(void)
{
    roctxMark("first");
    levels_begin_with_0();
    CHECK(roctxRangeStart("one") == 1);
    CHECK(roctxRangeStart("two") == 2);
    roctxRangeStop(1);
    roctxRangeStop(1);
    roctxRangeStop(12345);
    CHECK(roctxRangeStart("three") == 3);
    thread_number();
    CHECK(roctxProfilerPause(0) == 0);
    CHECK(roctxProfilerResume(0) == 0);
    CHECK(roctxNameOsThread("main") == 0);
    CHECK(roctxNameHsaAgent("agent", NULL) == 0);
    CHECK(roctxNameHipDevice("device", 0) == 0);
    CHECK(roctxNameHipStream("stream", NULL) == 0);

    roctxMark(NULL);
    CHECK(roctxRangePush(NULL) == 0);
    CHECK(roctxRangeStart(NULL) == 4);
    CHECK(roctxGetThreadId(NULL) == -1);
    CHECK(roctxNameOsThread(NULL) == 0);
    CHECK(roctxNameHsaAgent(NULL, NULL) == 0);
    CHECK(roctxNameHipDevice(NULL, -1) == 0);
    CHECK(roctxNameHipStream(NULL, NULL) == 0);

    /* A range is open on this thread; others do not see it. */
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, on_a_thread, NULL) == 0);
    for (int i = 0; i < 8; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);

    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(roctxRangePush("in the child") == 1);
        CHECK(roctxRangePop() == 1);
        CHECK(roctxRangeStart("in the child") == 5);
        thread_number();
        CHECK(pthread_create(&threads[0], NULL, on_a_thread, NULL) == 0);
        CHECK(pthread_join(threads[0], NULL) == 0);
        exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(roctxRangePop() == 0);
    CHECK(roctxRangeStart("five") == 5);
    return 0;
}
