// Marker calls as a profiler sees them: the operations and their arguments.
#ifndef ROCTRACER_ROCTRACER_ROCTX_H
#define ROCTRACER_ROCTRACER_ROCTX_H

#include <stdint.h>

typedef uint64_t roctx_range_id_t;

enum roctx_api_id_t
{
    ROCTX_API_ID_roctxMarkA       = 0,
    ROCTX_API_ID_roctxRangePushA  = 1,
    ROCTX_API_ID_roctxRangePop    = 2,
    ROCTX_API_ID_roctxRangeStartA = 3,
    ROCTX_API_ID_roctxRangeStop   = 4,
    ROCTX_API_ID_NUMBER           = 5,
};

// message is null if the operation has none; id counts for RangeStartA and RangeStop.
typedef struct roctx_api_data_s
{
    union
    {
        __extension__ struct
        {
            const char*      message;
            roctx_range_id_t id;
        };
        struct
        {
            const char* message;
        } roctxMarkA;
        struct
        {
            const char* message;
        } roctxRangePushA;
        struct
        {
            const char* message;
        } roctxRangePop;
        struct
        {
            const char*      message;
            roctx_range_id_t id;
        } roctxRangeStartA;
        struct
        {
            const char*      message;
            roctx_range_id_t id;
        } roctxRangeStop;
    } args;
} roctx_api_data_t;

#endif
