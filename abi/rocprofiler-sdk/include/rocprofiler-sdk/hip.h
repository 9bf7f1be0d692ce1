// HIP calls, without HIP's own headers.
#ifndef ROCPROFILER_SDK_HIP_H
#define ROCPROFILER_SDK_HIP_H

#include <rocprofiler-sdk/hip/api_args.h>

#endif
