// Macros of the marker headers.
#ifndef ROCPROFILER_SDK_ROCTX_DEFINES_H
#define ROCPROFILER_SDK_ROCTX_DEFINES_H

#ifndef ROCTX_PUBLIC_API
#define ROCTX_PUBLIC_API __attribute__((visibility("default")))
#endif
#ifndef ROCTX_API
#define ROCTX_API ROCTX_PUBLIC_API
#endif

#ifdef __cplusplus
#define ROCTX_EXTERN_C_INIT extern "C" {
#define ROCTX_EXTERN_C_FINI }
#else
#define ROCTX_EXTERN_C_INIT
#define ROCTX_EXTERN_C_FINI
#endif

#endif
