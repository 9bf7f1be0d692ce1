// RCCL calls. Nothing of RCCL's own headers is needed.
#ifndef ROCPROFILER_SDK_RCCL_H
#define ROCPROFILER_SDK_RCCL_H

#include <stdint.h>

// Arguments and result of a traced call, as bytes: 152 and 8.
typedef union rocprofiler_rccl_api_args_t
{
    uint64_t reserved[19];
} rocprofiler_rccl_api_args_t;

typedef union rocprofiler_rccl_api_retval_t
{
    uint64_t reserved[1];
} rocprofiler_rccl_api_retval_t;

#endif
