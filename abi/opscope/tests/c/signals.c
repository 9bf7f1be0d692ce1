/* Signal handlers that emit, mark and end ranges while the thread that they interrupt makes calls: no call waits for
 * the one that it interrupts, each record for which OPSCOPE_OK was returned is delivered, and all others are
 * counted. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <sys/time.h>

enum { CATEGORY = 7, OF_PROGRAM = 1, OF_HANDLER = 2, ENOUGH = 3000 };

static opscope_buffer_t buffer;
static uint32_t name;

/* How often handlers ran, and the statuses that they received. A handler of one signal does not interrupt itself,
 * but another thread's may run beside it. */
static uint64_t ran, taken, refused, wrong;

static void add(uint64_t *number)
{
    __atomic_fetch_add(number, 1, __ATOMIC_RELAXED);
}

static uint64_t read_number(const uint64_t *number)
{
    return __atomic_load_n(number, __ATOMIC_RELAXED);
}

static int is_busy_or(opscope_status_t status, opscope_status_t other)
{
    return status == OPSCOPE_ERROR_BUSY || status == other;
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
    const uint64_t number = read_number(&ran);
    opscope_status_t status = opscope_buffer_emit(buffer, CATEGORY, OF_HANDLER, &number, sizeof number);
    add(status == OPSCOPE_OK ? &taken : &refused);
    if (!is_busy_or(status, OPSCOPE_OK) && status != OPSCOPE_ERROR_FULL)
        add(&wrong);
    if (!is_busy_or(opscope_mark("known"), OPSCOPE_OK) || !is_busy_or(opscope_mark_named(name), OPSCOPE_OK) ||
        !is_busy_or(opscope_counter(name, 1), OPSCOPE_OK))
        add(&wrong);
    /* A push that was refused has no range to pop. */
    status = opscope_range_push("known");
    if (!is_busy_or(status, OPSCOPE_OK) || opscope_range_pop() != status)
        add(&wrong);
    status = opscope_range_push_named(name);
    if (!is_busy_or(status, OPSCOPE_OK) || opscope_range_pop() != status)
        add(&wrong);
    /* Functions that a handler should not call do not wait either, if it interrupts a call. */
    if (status == OPSCOPE_ERROR_BUSY) {
        uint32_t other;
        IS(opscope_buffer_flush(buffer), OPSCOPE_ERROR_BUSY);
        IS(opscope_intern("unknown", &other), OPSCOPE_ERROR_BUSY);
        IS(opscope_push_external(1), OPSCOPE_ERROR_BUSY);
    }
    add(&ran);
    interrupt_soon();
    errno = error;
}

static uint64_t seen[3];

static void take(const opscope_batch_t *batch, void *user)
{
    (void)user;
    opscope_record_t record;
    record.size = sizeof record;
    while (opscope_batch_next(batch, &record) == OPSCOPE_OK)
        if (record.category == CATEGORY)
            seen[record.kind]++;
}

static opscope_buffer_statistics_t of_kind(uint8_t category, uint16_t kind)
{
    opscope_buffer_statistics_t statistics;
    statistics.size = sizeof statistics;
    OK(opscope_buffer_kind_statistics(buffer, category, kind, &statistics));
    CHECK(statistics.emitted == statistics.delivered + statistics.dropped + statistics.waiting);
    CHECK(statistics.waiting == 0);
    return statistics;
}

int main(void)
{
    opscope_buffer_options_t options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.bytes = 1 << 16;
    options.watermark = 1 << 12;
    OK(opscope_buffer_create(&options, take, NULL, &buffer));
    opscope_context_t context;
    OK(opscope_context_create(&context));
    OK(opscope_context_configure(context, OPSCOPE_MARKER, NULL, 0, buffer));
    OK(opscope_context_configure(context, OPSCOPE_COUNTER, NULL, 0, buffer));
    OK(opscope_context_start(context));
    OK(opscope_intern("known", &name));
    OK(opscope_mark_named(name));
    uint64_t marks = 1, emitted = 0;

    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    interrupt_soon();
    for (uint64_t round = 0; read_number(&ran) < ENOUGH; round++) {
        for (int i = 0; i < 64; i++, emitted++)
            OK(opscope_buffer_emit(buffer, CATEGORY, OF_PROGRAM, &emitted, sizeof emitted));
        /* The heap, in which a handler may not wait. */
        char *text = (char *)malloc(64 + round % 4096);
        CHECK(text != NULL);
        snprintf(text, 64, "new now and then %llu", (unsigned long long)round / 64);
        OK(opscope_range_push(text));
        OK(opscope_mark(text));
        OK(opscope_mark_named(name));
        OK(opscope_range_pop());
        marks += 3;
        free(text);
        OK(opscope_push_external(round));
        uint64_t external;
        OK(opscope_pop_external(&external));
        CHECK(external == round);
        opscope_buffer_statistics_t statistics;
        statistics.size = sizeof statistics;
        OK(opscope_buffer_statistics(buffer, &statistics));
        if (round % 16 == 0)
            OK(opscope_buffer_flush(buffer));
    }
    CHECK(signal(SIGALRM, SIG_IGN) != SIG_ERR);
    OK(opscope_context_stop(context));
    OK(opscope_buffer_flush(buffer));

    CHECK(wrong == 0);
    opscope_buffer_statistics_t program = of_kind(CATEGORY, OF_PROGRAM), handlers = of_kind(CATEGORY, OF_HANDLER);
    CHECK(program.delivered == emitted && program.dropped == 0 && seen[OF_PROGRAM] == emitted);
    CHECK(handlers.delivered == taken && handlers.dropped == refused && seen[OF_HANDLER] == taken);
    CHECK(taken + refused == ran && taken > 0);
    CHECK(of_kind(OPSCOPE_CATEGORY, OPSCOPE_MARKER).emitted == marks + 4 * ran);
    CHECK(of_kind(OPSCOPE_CATEGORY, OPSCOPE_COUNTER).emitted == ran);
    OK(opscope_context_destroy(context));
    OK(opscope_buffer_destroy(buffer));
    return 0;
}
