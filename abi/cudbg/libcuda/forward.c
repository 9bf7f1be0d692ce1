// libcuda.so.1 for debuggers that look for their functions there. It lies in a directory of its own, which only those who ask for it have in
// their path: programs that compute need NVIDIA's. It forwards to libcudadebugger.so.1, as NVIDIA's does; the variables are found in that
// library, which this one is linked with.
#include "cudadebugger.h"

CUDBGResult cudbgGetAPI(uint32_t major, uint32_t minor, uint32_t rev, CUDBGAPI* api)
{
    return GetCUDADebuggerAPI(major, minor, rev, api);
}

CUDBGResult cudbgGetAPIVersion(uint32_t* major, uint32_t* minor, uint32_t* rev)
{
    return GetCUDADebuggerAPIVersion(major, minor, rev);
}
