/* Every header, alone and beside the others. */
#include "rocprofiler-sdk-roctx/version.h"

#include "rocprofiler-sdk-roctx/api_trace.h"

#include "roctracer/roctx.h"

#include "rocprofiler-sdk-roctx/defines.h"
#include "rocprofiler-sdk-roctx/roctx.h"
#include "rocprofiler-sdk-roctx/types.h"

#include <stddef.h>

#if !defined(roctxMark) || !defined(roctxRangePush) || !defined(roctxRangeStart)
#error "a macro is missing"
#endif

#ifdef __cplusplus
#define ASSERT(condition) static_assert(condition, #condition)
#else
#define ASSERT(condition) _Static_assert(condition, #condition)
#endif

ASSERT(sizeof(roctxCoreApiTable_t) == 56);
ASSERT(offsetof(roctxCoreApiTable_t, roctxMarkA_fn) == 8);
ASSERT(offsetof(roctxCoreApiTable_t, roctxRangePushA_fn) == 16);
ASSERT(offsetof(roctxCoreApiTable_t, roctxRangePop_fn) == 24);
ASSERT(offsetof(roctxCoreApiTable_t, roctxRangeStartA_fn) == 32);
ASSERT(offsetof(roctxCoreApiTable_t, roctxRangeStop_fn) == 40);
ASSERT(offsetof(roctxCoreApiTable_t, roctxGetThreadId_fn) == 48);
ASSERT(sizeof(roctxControlApiTable_t) == 24);
ASSERT(offsetof(roctxControlApiTable_t, roctxProfilerPause_fn) == 8);
ASSERT(offsetof(roctxControlApiTable_t, roctxProfilerResume_fn) == 16);
ASSERT(sizeof(roctxNameApiTable_t) == 40);
ASSERT(offsetof(roctxNameApiTable_t, roctxNameOsThread_fn) == 8);
ASSERT(offsetof(roctxNameApiTable_t, roctxNameHsaAgent_fn) == 16);
ASSERT(offsetof(roctxNameApiTable_t, roctxNameHipDevice_fn) == 24);
ASSERT(offsetof(roctxNameApiTable_t, roctxNameHipStream_fn) == 32);

ASSERT(ROCTX_VERSION == 10000);

int main(void)
{
    return 0;
}
