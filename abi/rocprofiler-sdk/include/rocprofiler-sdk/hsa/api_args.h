// HSA calls. Nothing of HSA's own headers is needed.
#ifndef ROCPROFILER_SDK_HSA_API_ARGS_H
#define ROCPROFILER_SDK_HSA_API_ARGS_H

#include <stdint.h>

// Arguments and result of a traced call, as bytes: 192 and 8.
typedef union rocprofiler_hsa_api_args_t
{
    uint64_t reserved[24];
} rocprofiler_hsa_api_args_t;

typedef union rocprofiler_hsa_api_retval_t
{
    uint64_t reserved[1];
} rocprofiler_hsa_api_retval_t;

#endif
