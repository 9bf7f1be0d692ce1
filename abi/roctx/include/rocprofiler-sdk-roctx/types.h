// Types of the marker functions.
#ifndef ROCPROFILER_SDK_ROCTX_TYPES_H
#define ROCPROFILER_SDK_ROCTX_TYPES_H

#include <stdint.h>

typedef uint64_t roctx_range_id_t;
typedef uint64_t roctx_thread_id_t;

#endif
