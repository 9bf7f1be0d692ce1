// HSA calls and scratch memory, without HSA's own headers.
#ifndef ROCPROFILER_SDK_HSA_H
#define ROCPROFILER_SDK_HSA_H

#include <rocprofiler-sdk/hsa/api_args.h>
#include <rocprofiler-sdk/hsa/scratch_memory_args.h>
#include <rocprofiler-sdk/hsa/scratch_memory_id.h>

// The type of an HSA agent's handle: HSA's own one if its header was included first.
#ifdef HSA_RUNTIME_INC_HSA_H_
typedef hsa_agent_t rocprofiler_hsa_agent_t;
#else
typedef struct rocprofiler_hsa_agent_t
{
    uint64_t handle;
} rocprofiler_hsa_agent_t;
#endif

#endif
