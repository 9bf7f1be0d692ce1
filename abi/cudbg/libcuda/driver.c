// libcuda.so.1 for debuggers that look for their functions there. It is in a separate directory, which only debuggers
// should have in their path, because programs that compute need NVIDIA's library. Like NVIDIA's, it opens
// libcudadebugger.so.1 when a debugger asks for the table.
#include <dlfcn.h>
#include <stddef.h>

#include "cudadebugger.h"

// The results of a driver that has no device, and of one that is not initialized.
enum { CUDA_ERROR_NOT_INITIALIZED = 3, CUDA_ERROR_NO_DEVICE = 100 };

// Returns a function of libcudadebugger.so.1; NULL if it does not exist. The library stays open.
static void* function(const char* name)
{
    void* library = dlopen("libcudadebugger.so.1", RTLD_LAZY);
    return library ? dlsym(library, name) : NULL;
}

CUDBGResult cudbgGetAPI(uint32_t major, uint32_t minor, uint32_t rev, CUDBGAPI* api)
{
    CUDBGResult (*get)(uint32_t, uint32_t, uint32_t, CUDBGAPI*);
    *(void**)&get = function("GetCUDADebuggerAPI");
    return get ? get(major, minor, rev, api) : CUDBG_ERROR_INTERNAL;
}

CUDBGResult cudbgGetAPIVersion(uint32_t* major, uint32_t* minor, uint32_t* rev)
{
    CUDBGResult (*get)(uint32_t*, uint32_t*, uint32_t*);
    *(void**)&get = function("GetCUDADebuggerAPIVersion");
    return get ? get(major, minor, rev) : CUDBG_ERROR_INTERNAL;
}

// Always fails, because there is no device that a program could compute with.
int cuInit(unsigned flags)
{
    (void)flags;
    cudbgDebuggerInitialized = 1;
    return CUDA_ERROR_NO_DEVICE;
}

// cuda-gdb sets a breakpoint here.
int cuMemAllocManaged(uint64_t* pointer, size_t size, unsigned flags)
{
    (void)pointer, (void)size, (void)flags;
    return CUDA_ERROR_NOT_INITIALIZED;
}

// Functions that do nothing. Each has its own address, because debuggers set breakpoints on some of them.
#define EMPTY(number) __asm__ volatile("" ::"r"(number))

void cudbgApiInit(uint32_t arg)
{
    (void)arg;
    EMPTY(1);
}

void cudbgReportDriverApiError(void)
{
    EMPTY(2);
}

void cudbgReportDriverInternalError(void)
{
    EMPTY(3);
}

void cudbgReportAttachProcedureFinished(void)
{
    EMPTY(4);
}

void cudbgPreInit(void)
{
    EMPTY(5);
}
