// The process that cuda-gdb traces. A debugger stops a traced process as a whole, and a stopped process cannot say
// where its runs are or what their tensors contain. So a program that is debugged runs in a child, which is not traced.
// The process that was started stays as its stand-in: it waits for the child, forwards signals to it, and ends as it
// ends.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cudadebugger.h"

// The variable that asks for a stand-in. Without it, the library does nothing in a program.
static const char VARIABLE[] = "OPSCOPE_CUDA_GDB";

// The program that serves a debugger's pipes, beside this library.
static const char SERVER[] = "opscope-cudbg-server";

// The process that the program runs in; 0 in that process itself, and if there is no stand-in.
static pid_t program;

// Whether this process is a program with a stand-in.
static int has_stand_in;

// A pipe from the server, which writes a byte when it is ready. The pipe ends with the server. -1 if none was started.
static int server = -1;

static void complain(const char* text)
{
    fprintf(stderr, "libcuda: %s\n", text);
}

// Writes the path of the server's program.
static int find_server(char* path, size_t size)
{
    Dl_info     here;
    const char* end;
    if (!dladdr((void*)VARIABLE, &here) || !here.dli_fname || !(end = strrchr(here.dli_fname, '/'))) {
        return 0;
    }
    const int length = snprintf(path, size, "%.*s/%s", (int)(end - here.dli_fname), here.dli_fname, SERVER);
    return length > 0 && (size_t)length < size;
}

static void set_number(const char* name, long number)
{
    char text[24];
    snprintf(text, sizeof text, "%ld", number);
    setenv(name, text, 1);
}

// Replaces this process by the server. The debugger's numbers are those that it has written.
static void become_server(const char* path, pid_t traced, int is_attached, int ready)
{
    char numbers[6][24];
    const long values[6] = {cudbgApiClientPid, cudbgApiClientRevision, cudbgSessionId, is_attached, ready, cudbgDebuggerCapabilities};
    char* arguments[8] = {(char*)path};
    for (int at = 0; at < 6; ++at) {
        snprintf(numbers[at], sizeof numbers[at], "%ld", values[at]);
        arguments[at + 1] = numbers[at];
    }
    // The signals of a terminal are for the program and its debugger.
    setsid();
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing >= 0) {
        dup2(nothing, STDIN_FILENO);
        dup2(nothing, STDOUT_FILENO);
    }
    unsetenv("LD_PRELOAD");
    set_number("OPSCOPE_CUDA_GDB_PROGRAM", traced);
    const char* target = getenv("OPSCOPE_DEBUG_TARGET");
    if (!target || !*target) {
        set_number("OPSCOPE_DEBUG_TARGET", program);
    }
    execv(path, arguments);
    fprintf(stderr, "libcuda: %s cannot be started: %s\n", path, strerror(errno));
}

// Starts a server. It is a grandchild, so that no debugger that follows a fork traces it, and the stand-in need not
// wait for it.
static int start_server(int is_attached)
{
    char path[PATH_MAX];
    int  ends[2];
    if (!find_server(path, sizeof path)) {
        return 0;
    }
    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC)) {
        return 0;
    }
    const pid_t traced = getpid(), child = fork();
    if (child == 0) {
        if (fork() == 0) {
            fcntl(ends[1], F_SETFD, 0);
            become_server(path, traced, is_attached, ends[1]);
        }
        _exit(0);
    }
    close(ends[1]);
    if (child > 0) {
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    if (server >= 0) {
        close(server);
    }
    server = ends[0];
    return child > 0;
}

// Returns whether a debugger is being served.
static int is_served(void)
{
    static int is_ready;
    char       byte;
    ssize_t    got;
    while ((got = server < 0 ? 0 : read(server, &byte, 1)) == 1) {
        is_ready = 1;
    }
    // If the pipe is at its end, the server has ended.
    if (got == 0) {
        is_ready = 0;
    }
    return is_ready;
}

// Called by a debugger that attaches to this process.
void cudbgApiAttach(void)
{
    if (has_stand_in) {
        fprintf(stderr, "libcuda: attach to process %d, which stands for this one\n", (int)getppid());
    } else if (!program) {
        complain("this program cannot be debugged by cuda-gdb; 'opscope vendor-env --cuda-gdb PROGRAM' starts one that can");
    }
    const int is_started                 = program && start_server(1);
    cudbgReportedDriverInternalErrorCode = is_started ? CUDBG_SUCCESS : CUDBG_ERROR_NOT_SUPPORTED;
    cudbgResumeForAttachDetach           = is_started;
    cudbgDebuggerInitialized             = is_started;
}

// Called by a debugger that detaches.
void cudbgApiDetach(void)
{
    cudbgReportedDriverInternalErrorCode = CUDBG_SUCCESS;
    cudbgResumeForAttachDetach           = is_served();
}

static void forward(int number)
{
    const int kept = errno;
    kill(program, number);
    if (number == SIGTSTP) {
        raise(SIGSTOP);
    }
    errno = kept;
}

// Forwards the signals that a user or a supervisor sends. Ignored signals stay ignored, as they are in the program.
static void forward_signals(void)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
    for (size_t at = 0; at < sizeof numbers / sizeof *numbers; ++at) {
        struct sigaction before, after = {.sa_handler = forward, .sa_flags = SA_RESTART};
        if (!sigaction(numbers[at], NULL, &before) && before.sa_handler != SIG_IGN) {
            sigaction(numbers[at], &after, NULL);
        }
    }
}

// Waits for the program, and ends as it has ended.
__attribute__((noreturn)) static void wait_for_program(void)
{
    int status = 0;
    while (waitpid(program, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status)) {
        _exit(WEXITSTATUS(status));
    }
    const int           number  = WTERMSIG(status);
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(number, SIG_DFL);
    raise(number);
    _exit(128 + number);
}

// The program's side. It continues to main when the stand-in knows whether there is a debugger.
static void run_on(pid_t stand_in, int answer)
{
    char is_debugged = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // A terminal's signals go to the stand-in, which forwards them to this process, because a debugger may keep some
    // for itself.
    setpgid(0, 0);
    const ssize_t got = read(answer, &is_debugged, 1);
    close(answer);
    if (got != 1 || getppid() != stand_in) {
        _exit(1);
    }
    program      = 0;
    has_stand_in = 1;
    if (is_debugged) {
        // The debug server lets the program begin once the debugger is attached.
        setenv("OPSCOPE_DEBUG_WAIT", "60", 0);
    }
}

__attribute__((constructor)) static void begin(void)
{
    const char* wanted = getenv(VARIABLE);
    int         ends[2];
    if (!wanted || strcmp(wanted, "1") != 0) {
        return;
    }
    // Programs that this one starts are not debugged.
    unsetenv(VARIABLE);
    if (pipe2(ends, O_CLOEXEC)) {
        complain("the program runs without a stand-in, and cannot be debugged by cuda-gdb");
        return;
    }
    const pid_t stand_in = getpid();
    program              = fork();
    if (program == 0) {
        close(ends[1]);
        run_on(stand_in, ends[0]);
        return;
    }
    close(ends[0]);
    if (program < 0) {
        program = 0;
        close(ends[1]);
        complain("the program runs without a stand-in, and cannot be debugged by cuda-gdb");
        return;
    }
    forward_signals();
    // A debugger that has started this process was notified of the fork, and has written its variables by now.
    const char is_debugged = cudbgIpcFlag != 0;
    if (is_debugged) {
        cudbgDebuggerInitialized = 1;
        start_server(0);
    }
    cudbgAttachHandlerAvailable = 1;
    if (write(ends[1], &is_debugged, 1) != 1) {
        complain("the program has ended at its beginning");
    }
    close(ends[1]);
    wait_for_program();
}
