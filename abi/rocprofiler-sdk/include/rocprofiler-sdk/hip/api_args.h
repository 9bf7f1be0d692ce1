// HIP calls. Nothing of HIP's own headers is needed.
#ifndef ROCPROFILER_SDK_HIP_API_ARGS_H
#define ROCPROFILER_SDK_HIP_API_ARGS_H

#include <stdint.h>

// Arguments and result of a traced call, as bytes: 88 and 24.
typedef union rocprofiler_hip_api_args_t
{
    uint64_t reserved[11];
} rocprofiler_hip_api_args_t;

typedef union rocprofiler_hip_api_retval_t
{
    uint64_t reserved[3];
} rocprofiler_hip_api_retval_t;

#endif
