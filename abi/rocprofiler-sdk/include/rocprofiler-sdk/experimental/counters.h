// Counter definitions of a tool. Not implemented.
#ifndef ROCPROFILER_SDK_EXPERIMENTAL_COUNTERS_H
#define ROCPROFILER_SDK_EXPERIMENTAL_COUNTERS_H

#include <rocprofiler-sdk/defines.h>
#include <rocprofiler-sdk/fwd.h>

ROCPROFILER_EXTERN_C_INIT

ROCPROFILER_API rocprofiler_status_t
rocprofiler_load_counter_definition(const char*                yaml,
                                    size_t                     size,
                                    rocprofiler_counter_flag_t flags);

ROCPROFILER_EXTERN_C_FINI

#endif
