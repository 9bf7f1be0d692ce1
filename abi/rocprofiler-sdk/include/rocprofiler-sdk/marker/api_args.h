// Arguments and results of marker calls.
#ifndef ROCPROFILER_SDK_MARKER_API_ARGS_H
#define ROCPROFILER_SDK_MARKER_API_ARGS_H

#include <rocprofiler-sdk-roctx/types.h>

#include <stdint.h>

struct hsa_agent_s;
struct ihipStream_t;

typedef struct rocprofiler_marker_api_no_args
{
    char empty;
} rocprofiler_marker_api_no_args;

// 0 in the phase ENTER.
typedef union rocprofiler_marker_api_retval_t
{
    int32_t          int32_t_retval;
    int64_t          int64_t_retval;
    roctx_range_id_t roctx_range_id_t_retval;
} rocprofiler_marker_api_retval_t;

typedef union rocprofiler_marker_api_args_t
{
    struct
    {
        const char* message;
    } roctxMarkA, roctxRangePushA, roctxRangeStartA, roctxThreadRangeA, roctxProcessRangeA;
    struct
    {
        rocprofiler_marker_api_no_args no_args;
    } roctxRangePop;
    struct
    {
        roctx_range_id_t id;
    } roctxRangeStop;
    struct
    {
        roctx_thread_id_t* tid;
    } roctxGetThreadId;
    struct
    {
        roctx_thread_id_t tid;  // 0 = all threads
    } roctxProfilerPause, roctxProfilerResume;
    struct
    {
        const char* name;
    } roctxNameOsThread;
    struct
    {
        const char*               name;
        const struct hsa_agent_s* agent;
    } roctxNameHsaAgent;
    struct
    {
        const char* name;
        int         device_id;
    } roctxNameHipDevice;
    struct
    {
        const char*                name;
        const struct ihipStream_t* stream;
    } roctxNameHipStream;
} rocprofiler_marker_api_args_t;

#endif
