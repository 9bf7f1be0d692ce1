// Markers: a program names events and ranges for a profiler.
//
// Every function may be called in a signal handler once the process has made its first call of one. None waits for a
// call that the handler interrupts. A handler ends the ranges that it begins.
#ifndef ROCPROFILER_SDK_ROCTX_ROCTX_H
#define ROCPROFILER_SDK_ROCTX_ROCTX_H

#include <rocprofiler-sdk-roctx/defines.h>
#include <rocprofiler-sdk-roctx/types.h>
#include <rocprofiler-sdk-roctx/version.h>

#include <stddef.h>
#include <stdint.h>

ROCTX_EXTERN_C_INIT

struct hsa_agent_s;
struct ihipStream_t;

// Marks an event.
ROCTX_API void
roctxMarkA(const char* message);

// Opens a range on this thread. Returns its level, from 0.
ROCTX_API int
roctxRangePushA(const char* message);

// Closes the innermost range of this thread. Returns its level, or -1 if there is none.
ROCTX_API int
roctxRangePop(void);

// Starts a range that any thread can stop. Returns its id, from 1.
ROCTX_API roctx_range_id_t
roctxRangeStartA(const char* message);

// Stops a range.
ROCTX_API void
roctxRangeStop(roctx_range_id_t id);

// Asks a profiler to pause. tid 0 = all threads. Returns 0 on success.
ROCTX_API int
roctxProfilerPause(roctx_thread_id_t tid);

// Asks a profiler to resume. tid 0 = all threads. Returns 0 on success.
ROCTX_API int
roctxProfilerResume(roctx_thread_id_t tid);

// Names this thread, an agent, a device or a stream in a profiler's output. Each returns 0 on
// success.
ROCTX_API int
roctxNameOsThread(const char* name);
ROCTX_API int
roctxNameHsaAgent(const char* name, const struct hsa_agent_s* agent);
ROCTX_API int
roctxNameHipDevice(const char* name, int device_id);
ROCTX_API int
roctxNameHipStream(const char* name, const struct ihipStream_t* stream);

// Sets *tid to this thread's id as in a profiler's records. Returns 0 on success.
ROCTX_API int
roctxGetThreadId(roctx_thread_id_t* tid);

ROCTX_EXTERN_C_FINI

#ifndef roctxMark
#define roctxMark(message) roctxMarkA(message)
#endif
#ifndef roctxRangePush
#define roctxRangePush(message) roctxRangePushA(message)
#endif
#ifndef roctxRangeStart
#define roctxRangeStart(message) roctxRangeStartA(message)
#endif

#endif
