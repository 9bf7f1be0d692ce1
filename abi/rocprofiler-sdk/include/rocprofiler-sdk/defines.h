// Macros that the other headers and tools use.
#ifndef ROCPROFILER_SDK_DEFINES_H
#define ROCPROFILER_SDK_DEFINES_H

#include <stdint.h>

#ifndef ROCPROFILER_ATTRIBUTE
#define ROCPROFILER_ATTRIBUTE(...) __attribute__((__VA_ARGS__))
#endif
#ifndef ROCPROFILER_PUBLIC_API
#define ROCPROFILER_PUBLIC_API ROCPROFILER_ATTRIBUTE(visibility("default"))
#endif
#ifndef ROCPROFILER_HIDDEN_API
#define ROCPROFILER_HIDDEN_API ROCPROFILER_ATTRIBUTE(visibility("hidden"))
#endif
#ifndef ROCPROFILER_EXPORT
#define ROCPROFILER_EXPORT ROCPROFILER_PUBLIC_API
#endif
#ifndef ROCPROFILER_IMPORT
#define ROCPROFILER_IMPORT
#endif
#ifndef ROCPROFILER_API
#define ROCPROFILER_API ROCPROFILER_PUBLIC_API
#endif

// For tools. The functions declared here accept a null pointer and return
// ROCPROFILER_STATUS_ERROR_INVALID_ARGUMENT, so they do not use it.
#ifndef ROCPROFILER_NONNULL
#define ROCPROFILER_NONNULL(...) ROCPROFILER_ATTRIBUTE(nonnull(__VA_ARGS__))
#endif

#ifdef __cplusplus
#define ROCPROFILER_EXTERN_C_INIT extern "C" {
#define ROCPROFILER_EXTERN_C_FINI }
#define ROCPROFILER_CXX_CODE(...) __VA_ARGS__
#define ROCPROFILER_HANDLE_LITERAL(type, value) (type{value})
#define ROCPROFILER_UINT64_C(value) uint64_t(value)
#else
#define ROCPROFILER_EXTERN_C_INIT
#define ROCPROFILER_EXTERN_C_FINI
#define ROCPROFILER_CXX_CODE(...)
#define ROCPROFILER_HANDLE_LITERAL(type, value) ((type){value})
#define ROCPROFILER_UINT64_C(value) UINT64_C(value)
#endif

// Marks of experimental and deprecated items. They expand to nothing.
#define ROCPROFILER_SDK_EXPERIMENTAL
#define ROCPROFILER_SDK_DEPRECATED(...)

// 1 keeps the names from before 1.0.0 ("profile_config").
#ifndef ROCPROFILER_SDK_BETA_COMPAT
#define ROCPROFILER_SDK_BETA_COMPAT 1
#endif
#if ROCPROFILER_SDK_BETA_COMPAT > 0
#define ROCPROFILER_SDK_BETA_COMPAT_SUPPORTED 1
#endif

#define ROCPROFILER_SDK_COMPUTE_VERSION_VALUE(MAX, MAJOR, MINOR, PATCH)                            \
    (((MAX) * (MAX) * (MAJOR)) + ((MAX) * (MINOR)) + (PATCH))
#define ROCPROFILER_SDK_COMPUTE_VERSION(MAJOR, MINOR, PATCH)                                       \
    ROCPROFILER_SDK_COMPUTE_VERSION_VALUE(100, MAJOR, MINOR, PATCH)

#endif
