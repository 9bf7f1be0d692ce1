/*
 * Signal handlers that mark and end ranges while the thread that they interrupt does the same: no call waits for the
 * one that it interrupts, each is a record or counted as dropped, and no two have the same id. The argument says what
 * records the calls: "alone" is a buffer, "ranges" a buffer of ranges as well, "beside" a callback in another context
 * as well.
 */
static void make_services(void);
#define TOOL_INITIALIZE make_services
#include "tool.h"

#include <errno.h>
#include <signal.h>
#include <sys/time.h>

enum { ENOUGH = 3000, MOST_IDS = 1 << 24 };

static const char *wanted;
static rocprofiler_context_id_t context;
static rocprofiler_buffer_id_t buffer, ranges;
static uint8_t ids[MOST_IDS / 8];
static uint64_t own, calls, of_ranges, calls_dropped, ranges_dropped, called;
static uint64_t ran, taken, refused, wrong;

static void take(rocprofiler_context_id_t from, rocprofiler_buffer_id_t of, rocprofiler_record_header_t **headers,
                 size_t count, void *data, uint64_t drop_count)
{
    (void)from, (void)data;
    if (of.handle == ranges.handle) {
        ranges_dropped = drop_count;
        of_ranges += count;
        return;
    }
    calls_dropped = drop_count;
    for (size_t i = 0; i < count; i++) {
        if (headers[i]->category == OWN_CATEGORY) {
            own++;
            continue;
        }
        calls++;
        const rocprofiler_buffer_tracing_marker_api_record_t *record =
            (const rocprofiler_buffer_tracing_marker_api_record_t *)headers[i]->payload;
        uint64_t id = record->correlation_id.internal;
        CHECK(id < MOST_IDS);
        CHECK((ids[id / 8] >> id % 8 & 1) == 0);
        ids[id / 8] = (uint8_t)(ids[id / 8] | 1 << id % 8);
        CHECK(record->correlation_id.external.value == 5);
    }
}

static void note(rocprofiler_callback_tracing_record_t record, rocprofiler_user_data_t *user_data, void *data)
{
    (void)user_data, (void)data;
    if (record.phase == ROCPROFILER_CALLBACK_PHASE_EXIT)
        __atomic_fetch_add(&called, 1, __ATOMIC_RELAXED);
}

static void make_services(void)
{
    context = new_context();
    buffer = new_buffer(context, 1 << 16, 1 << 12, ROCPROFILER_BUFFER_POLICY_LOSSLESS, take, NULL);
    OK(rocprofiler_configure_buffer_tracing_service(context, ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API, NULL, 0,
                                                    buffer));
    if (strcmp(wanted, "ranges") == 0) {
        ranges = new_buffer(context, 1 << 16, 1 << 12, ROCPROFILER_BUFFER_POLICY_LOSSLESS, take, NULL);
        OK(rocprofiler_configure_buffer_tracing_service(context, ROCPROFILER_BUFFER_TRACING_MARKER_CORE_RANGE_API, NULL,
                                                        0, ranges));
    }
    OK(rocprofiler_start_context(context));
    if (strcmp(wanted, "beside") == 0) {
        rocprofiler_context_id_t other = new_context();
        OK(rocprofiler_configure_callback_tracing_service(other, ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_API, NULL, 0,
                                                          note, NULL));
        OK(rocprofiler_start_context(other));
    }
}

/* Interrupts the program in 20 microseconds, once: it continues meanwhile, however long a handler takes. */
static void interrupt_soon(void)
{
    const struct itimerval once = {{0, 0}, {0, 20}};
    setitimer(ITIMER_REAL, &once, NULL);
}

static void handle(int signal)
{
    (void)signal;
    int error = errno;
    roctxMarkA("handler");
    int level = roctxRangePushA("handler");
    if (level < 0 || roctxRangePop() != level)
        __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    const uint64_t number = ran;
    rocprofiler_status_t status = opscope_rocprofiler_emit(buffer, OWN_CATEGORY, 1, &number, sizeof number);
    __atomic_fetch_add(status == ROCPROFILER_STATUS_SUCCESS ? &taken : &refused, 1, __ATOMIC_RELAXED);
    if (status != ROCPROFILER_STATUS_SUCCESS && status != ROCPROFILER_STATUS_ERROR_BUFFER_BUSY)
        __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&ran, 1, __ATOMIC_RELAXED);
    interrupt_soon();
    errno = error;
}

int main(int count_of_arguments, char **arguments)
{
    CHECK(count_of_arguments == 2);
    wanted = arguments[1];
    /* The library's threads are created with the signal blocked, so handlers run on this thread only. */
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGALRM);
    CHECK(pthread_sigmask(SIG_BLOCK, &signals, NULL) == 0);
    begin();
    rocprofiler_user_data_t external = {5}, popped;
    OK(rocprofiler_push_external_correlation_id(context, own_thread(), external));
    uint64_t made = 0;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(pthread_sigmask(SIG_UNBLOCK, &signals, NULL) == 0);
    interrupt_soon();
    while (__atomic_load_n(&ran, __ATOMIC_RELAXED) < ENOUGH) {
        for (int i = 0; i < 16; i++) {
            roctxMarkA("program");
            CHECK(roctxRangePushA("program") == 0);
            CHECK(roctxRangePop() == 0);
            made++;
        }
        OK(rocprofiler_push_external_correlation_id(context, own_thread(), external));
        OK(rocprofiler_pop_external_correlation_id(context, own_thread(), &popped));
        CHECK(popped.value == 5);
        OK(rocprofiler_flush_buffer(buffer));
    }
    CHECK(signal(SIGALRM, SIG_IGN) != SIG_ERR);
    /* The last callback says how many were dropped in all. */
    roctxMarkA("last");
    CHECK(roctxRangePushA("last") == 0 && roctxRangePop() == 0);
    made++;
    OK(rocprofiler_flush_buffer(buffer));
    CHECK(wrong == 0 && taken + refused == ran && own == taken && taken > 0);
    /* A mark, a push and a pop each. */
    CHECK(calls + own + calls_dropped == 3 * made + 3 * ran + ran);
    CHECK(calls >= 3 * made);
    if (ranges.handle != 0) {
        OK(rocprofiler_flush_buffer(ranges));
        /* A mark, which has a record of its own there, and a range. */
        CHECK(of_ranges + ranges_dropped == 2 * made + 2 * ran);
        CHECK(of_ranges >= 2 * made);
    }
    CHECK(strcmp(wanted, "beside") != 0 || (called >= 3 * made && called <= 3 * made + 3 * ran));
    return 0;
}
