// rocJPEG calls. Nothing of rocJPEG's own headers is needed.
#ifndef ROCPROFILER_SDK_ROCJPEG_H
#define ROCPROFILER_SDK_ROCJPEG_H

#include <stdint.h>

// Arguments and result of a traced call, as bytes: 48 and 8.
typedef union rocprofiler_rocjpeg_api_args_t
{
    uint64_t reserved[6];
} rocprofiler_rocjpeg_api_args_t;

typedef union rocprofiler_rocjpeg_api_retval_t
{
    uint64_t reserved[1];
} rocprofiler_rocjpeg_api_retval_t;

#endif
