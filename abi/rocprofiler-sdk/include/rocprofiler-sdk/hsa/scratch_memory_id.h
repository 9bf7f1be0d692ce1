// Enumerations of scratch memory events.
#ifndef ROCPROFILER_SDK_HSA_SCRATCH_MEMORY_ID_H
#define ROCPROFILER_SDK_HSA_SCRATCH_MEMORY_ID_H

typedef enum rocprofiler_scratch_alloc_flag_t
{
    ROCPROFILER_SCRATCH_ALLOC_FLAG_NONE     = 0,
    ROCPROFILER_SCRATCH_ALLOC_FLAG_USE_ONCE = (1 << 0),
    ROCPROFILER_SCRATCH_ALLOC_FLAG_ALT      = (1 << 1),
} rocprofiler_scratch_alloc_flag_t;

// Values of args_kind in rocprofiler_callback_tracing_scratch_memory_data_t.
enum
{
    ROCPROFILER_SCRATCH_MEMORY_ARGS_ALLOC_START         = 1,
    ROCPROFILER_SCRATCH_MEMORY_ARGS_ALLOC_END           = 2,
    ROCPROFILER_SCRATCH_MEMORY_ARGS_FREE_START          = 3,
    ROCPROFILER_SCRATCH_MEMORY_ARGS_FREE_END            = 4,
    ROCPROFILER_SCRATCH_MEMORY_ARGS_ASYNC_RECLAIM_START = 5,
    ROCPROFILER_SCRATCH_MEMORY_ARGS_ASYNC_RECLAIM_END   = 6,
};

#endif
