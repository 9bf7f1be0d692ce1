// Markers of the older library, libroctx64.so.4.
//
// Every function may be called in a signal handler once the process has made its first call of one. None waits for a
// call that the handler interrupts. A handler ends the ranges that it begins.
#ifndef ROCTRACER_ROCTX_H
#define ROCTRACER_ROCTX_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Where rocprofiler-sdk-roctx/version.h is included too, its macros of these names count.
#ifndef ROCTX_VERSION_MAJOR
#define ROCTX_VERSION_MAJOR 4
#define ROCTX_VERSION_MINOR 1
#endif

#ifndef ROCTX_API
#define ROCTX_API __attribute__((visibility("default")))
#endif

typedef uint64_t roctx_range_id_t;

ROCTX_API uint32_t
roctx_version_major(void);
ROCTX_API uint32_t
roctx_version_minor(void);

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

#ifdef __cplusplus
}
#endif

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
