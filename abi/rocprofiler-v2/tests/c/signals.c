/* Signal handlers that mark, while the thread that they interrupt marks and flushes: no mark waits for the call that
   it interrupts, no mark of the program is lost, and none is delivered twice. With the argument "callback", a
   function receives the calls. */
#include "tool.h"

#include <roctracer/roctx.h>

#include <errno.h>
#include <signal.h>
#include <sys/time.h>

#define ENOUGH 3000

static uint64_t of_program, of_handler, ran, called;
static unsigned char seen[1 << 24];

static void count(record_t begin, record_t end, rocprofiler_session_id_t session, rocprofiler_buffer_id_t buffer)
{
    for (record_t at = begin; at < end; at = after(at, session, buffer)) {
        unsigned long number;
        const char *text = TRACER(at)->name;
        if (text[0] == 'p') {
            /* The records come in order, so each comes exactly once. */
            CHECK(sscanf(text, "p%lu", &number) == 1 && number == of_program);
            of_program++;
        } else {
            CHECK(sscanf(text, "h%lu", &number) == 1 && number < sizeof seen && !seen[number]);
            seen[number] = 1;
            of_handler++;
        }
    }
}

static void call(rocprofiler_record_tracer_t record, rocprofiler_session_id_t session)
{
    (void)record, (void)session;
    __atomic_fetch_add(&called, 1, __ATOMIC_RELAXED);
}

/* Writes a letter and a number, as snprintf does, which is not for handlers. */
static void write_text(char *text, char letter, uint64_t number)
{
    char digits[24];
    int length = 0;
    do
        digits[length++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    *text++ = letter;
    while (length > 0)
        *text++ = digits[--length];
    *text = '\0';
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
    char text[32];
    write_text(text, 'h', __atomic_fetch_add(&ran, 1, __ATOMIC_RELAXED));
    roctxMarkA(text);
    interrupt_soon();
    errno = error;
}

int main(int count_of_arguments, char **arguments)
{
    int has_callback = count_of_arguments == 2 && strcmp(arguments[1], "callback") == 0;
    /* The library's threads are created with the signal blocked, so handlers run on this thread only. */
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGALRM);
    CHECK(pthread_sigmask(SIG_BLOCK, &signals, NULL) == 0);
    OK(rocprofiler_initialize());
    traced_t traced = create_roctx(1 << 16, count);
    if (has_callback)
        OK(rocprofiler_set_api_trace_sync_callback(traced.session, traced.filter, call));
    OK(rocprofiler_start_session(traced.session));
    roctxMarkA("p0");
    uint64_t made = 1;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(pthread_sigmask(SIG_UNBLOCK, &signals, NULL) == 0);
    interrupt_soon();
    while (__atomic_load_n(&ran, __ATOMIC_RELAXED) < ENOUGH) {
        for (int i = 0; i < 32; i++) {
            char text[32];
            write_text(text, 'p', made++);
            roctxMarkA(text);
        }
        OK(flush(traced));
    }
    CHECK(signal(SIGALRM, SIG_IGN) != SIG_ERR);
    OK(rocprofiler_terminate_session(traced.session));
    OK(flush(traced));
    if (has_callback) {
        CHECK(called >= made && called <= made + ran);
    } else {
        CHECK(of_program == made);
        CHECK(of_handler > 0 && of_handler <= ran);
    }
    OK(rocprofiler_destroy_session(traced.session));
    OK(rocprofiler_finalize());
    return 0;
}
