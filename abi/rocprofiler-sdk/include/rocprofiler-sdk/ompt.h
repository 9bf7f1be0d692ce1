// OpenMP. The library records no OpenMP events; the types are here for tools that name them.
#ifndef ROCPROFILER_SDK_OMPT_H
#define ROCPROFILER_SDK_OMPT_H

#include <rocprofiler-sdk/defines.h>
#include <rocprofiler-sdk/fwd.h>

ROCPROFILER_EXTERN_C_INIT

// Arguments of an event, as bytes: 128.
typedef union rocprofiler_ompt_args_t
{
    uint64_t reserved[16];
} rocprofiler_ompt_args_t;

// Defined by OpenMP's omp-tools.h.
typedef struct ompt_start_tool_result_t ompt_start_tool_result_t;

// Sets *status to 0.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_ompt_is_initialized(int* status);

// Sets *status to 0.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_ompt_is_finalized(int* status);

// Returns null: no interest.
ROCPROFILER_API ompt_start_tool_result_t*
rocprofiler_ompt_start_tool(unsigned int omp_version, const char* runtime_version);

// Called by an OpenMP runtime. Returns null: no interest.
ROCPROFILER_API ompt_start_tool_result_t*
ompt_start_tool(unsigned int omp_version, const char* runtime_version);

ROCPROFILER_EXTERN_C_FINI

#endif
