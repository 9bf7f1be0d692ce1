/* Signal handlers that mark and end the ranges that they begin, while the thread that they interrupt does the same:
 * each call returns what it returns without them. */
#include "check.h"

#include "rocprofiler-sdk-roctx/roctx.h"

#include <signal.h>
#include <sys/time.h>

enum { ENOUGH = 3000 };

static volatile sig_atomic_t ran, wrong;
/* How many ranges the program has begun and not ended, when a handler runs; 0 while it begins or ends one. */
static volatile sig_atomic_t level;

/* Interrupts the program in 20 microseconds, once: it continues meanwhile, however long a handler takes. */
static void interrupt_soon(void)
{
    const struct itimerval once = {{0, 0}, {0, 20}};
    setitimer(ITIMER_REAL, &once, NULL);
}

static void handle(int signal)
{
    (void)signal;
    roctxMark("~handler");
    int before = roctxRangePush("~handler");
    if (roctxRangePush("~handler") != before + 1 || roctxRangePop() != before + 1 || roctxRangePop() != before)
        wrong = 1;
    if (level > 0 && before != level)
        wrong = 1;
    roctx_range_id_t range = roctxRangeStart("~handler");
    roctxRangeStop(range);
    ran++;
    interrupt_soon();
}

int main(void)
{
    /* The first call searches for the profiler, which a signal handler must not do. */
    roctxMark("~");
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    interrupt_soon();
    roctx_range_id_t last = 0;
    while (ran < ENOUGH) {
        roctxMark("~");
        CHECK(roctxRangePush("~") == 0);
        level = 1;
        CHECK(roctxRangeStart("~") > last);
        level = 0;
        CHECK(roctxRangePush("~") == 1);
        level = 2;
        last = roctxRangeStart("~");
        level = 0;
        CHECK(roctxRangePop() == 1);
        CHECK(roctxRangePop() == 0);
        CHECK(roctxRangePop() == -1);
    }
    CHECK(signal(SIGALRM, SIG_IGN) != SIG_ERR);
    CHECK(!wrong);
    return 0;
}
