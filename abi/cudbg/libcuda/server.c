// The process in which libcudadebugger.so.1 serves cuda-gdb's pipes. libcuda.so.1 starts it, with the numbers that the
// debugger has written: its process, the revision that it was compiled for, its session, whether it attached, a
// descriptor, and capabilities.
#include <stdio.h>
#include <stdlib.h>

#include "cudadebugger.h"

int main(int count, char** arguments)
{
    long numbers[6];
    if (count != 7) {
        fprintf(stderr, "%s is started by libcuda.so.1\n", *arguments);
        return 2;
    }
    for (int at = 0; at < 6; ++at) {
        numbers[at] = strtol(arguments[at + 1], NULL, 10);
    }
    // The table is obtained before the pipes are served. It is needed for the text of a failure, which is that of the
    // last call.
    CUDBGAPI api = NULL;
    cudbgGetAPI(CUDBG_API_VERSION_MAJOR, CUDBG_API_VERSION_MINOR, CUDBG_API_VERSION_REVISION, &api);
    cudbgDebuggerCapabilities = (uint32_t)numbers[5];
    if (cudbgMain((int)numbers[0], (uint32_t)numbers[1], (int)numbers[2], (int)numbers[3], 0, (int)numbers[4], -1, 0, 0) == CUDBG_SUCCESS) {
        return 0;
    }
    char text[1024] = "";
    if (api) {
        api->getErrorStringEx(text, sizeof text, NULL);
    }
    fprintf(stderr, "libcudadebugger: cuda-gdb is not served: %s\n", text);
    return 1;
}
