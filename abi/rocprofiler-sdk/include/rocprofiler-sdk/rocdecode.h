// rocDecode calls. Nothing of rocDecode's own headers is needed.
#ifndef ROCPROFILER_SDK_ROCDECODE_H
#define ROCPROFILER_SDK_ROCDECODE_H

#include <stdint.h>

// Arguments and result of a traced call, as bytes: 40 and 8.
typedef union rocprofiler_rocdecode_api_args_t
{
    uint64_t reserved[5];
} rocprofiler_rocdecode_api_args_t;

typedef union rocprofiler_rocdecode_api_retval_t
{
    uint64_t reserved[1];
} rocprofiler_rocdecode_api_retval_t;

#endif
