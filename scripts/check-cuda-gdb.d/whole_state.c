/* Preloaded into a debugger that is older than the processor. Linux takes the extended state of a thread (NT_X86_XSTATE) only as a whole, and
 * cuda-gdb 11.8 writes the first 2,696 bytes, which were the whole before AMX: "Couldn't write extended state status: Bad address". The rest
 * is added here as the thread has it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef long (*call)(enum __ptrace_request, ...);

long ptrace(enum __ptrace_request request, ...) {
    va_list arguments;
    va_start(arguments, request);
    pid_t thread = va_arg(arguments, pid_t);
    void *address = va_arg(arguments, void *);
    void *data = va_arg(arguments, void *);
    va_end(arguments);
    call real = (call)dlsym(RTLD_NEXT, "ptrace");
    if (request != PTRACE_SETREGSET || (long)address != NT_X86_XSTATE)
        return real(request, thread, address, data);

    static char whole[1 << 16];
    struct iovec *given = data;
    struct iovec state = {whole, sizeof whole};
    if (real(PTRACE_GETREGSET, thread, address, &state) != 0)
        return -1;
    /* The header, behind the 512 bytes of the old state, begins with a bit for each part. Bits 17 and 18 are AMX. */
    enum { HEADER = 512 };
    const unsigned long long amx = 3ULL << 17;
    unsigned long long before, parts;
    memcpy(&before, whole + HEADER, sizeof before);
    if (given->iov_len < state.iov_len)
        memcpy(whole, given->iov_base, given->iov_len);
    else
        state = *given;
    if (state.iov_base == whole) {
        memcpy(&parts, whole + HEADER, sizeof parts);
        parts = (parts & ~amx) | (before & amx);
        memcpy(whole + HEADER, &parts, sizeof parts);
    }
    return real(request, thread, address, &state);
}
