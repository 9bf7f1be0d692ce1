// The whole interface except for registration.h and experimental/.
#ifndef ROCPROFILER_SDK_ROCPROFILER_H
#define ROCPROFILER_SDK_ROCPROFILER_H

#include <rocprofiler-sdk/agent.h>
#include <rocprofiler-sdk/buffer.h>
#include <rocprofiler-sdk/buffer_tracing.h>
#include <rocprofiler-sdk/callback_tracing.h>
#include <rocprofiler-sdk/context.h>
#include <rocprofiler-sdk/counter_config.h>
#include <rocprofiler-sdk/counters.h>
#include <rocprofiler-sdk/defines.h>
#include <rocprofiler-sdk/deprecated/profile_config.h>
#include <rocprofiler-sdk/device_counting_service.h>
#include <rocprofiler-sdk/dispatch_counting_service.h>
#include <rocprofiler-sdk/external_correlation.h>
#include <rocprofiler-sdk/fwd.h>
#include <rocprofiler-sdk/hip.h>
#include <rocprofiler-sdk/hsa.h>
#include <rocprofiler-sdk/intercept_table.h>
#include <rocprofiler-sdk/internal_threading.h>
#include <rocprofiler-sdk/marker.h>
#include <rocprofiler-sdk/ompt.h>
#include <rocprofiler-sdk/pc_sampling.h>
#include <rocprofiler-sdk/rccl.h>
#include <rocprofiler-sdk/rocdecode.h>
#include <rocprofiler-sdk/rocjpeg.h>
#include <rocprofiler-sdk/version.h>

ROCPROFILER_EXTERN_C_INIT

// The version of the loaded library. Each pointer may be null.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_get_version(uint32_t* major, uint32_t* minor, uint32_t* patch);

ROCPROFILER_API rocprofiler_status_t
rocprofiler_get_version_triplet(rocprofiler_version_triplet_t* info);

// The time in nanoseconds on the clock that records use.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_get_timestamp(rocprofiler_timestamp_t* ts);

// The calling thread's id as in records.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_get_thread_id(rocprofiler_thread_id_t* tid);

// Returns the enumerator's name, or null for an unknown value.
ROCPROFILER_API const char*
rocprofiler_get_status_name(rocprofiler_status_t status);

// Returns a message, or null for an unknown value.
ROCPROFILER_API const char*
rocprofiler_get_status_string(rocprofiler_status_t status);

ROCPROFILER_EXTERN_C_FINI

#endif
