// Comparison of identifiers and versions.
#ifndef ROCPROFILER_SDK_CXX_OPERATORS_HPP
#define ROCPROFILER_SDK_CXX_OPERATORS_HPP

#include <rocprofiler-sdk/rocprofiler.h>

#include <tuple>

#define ROCPROFILER_CXX_COMPARE(TYPE, KEY)                                                         \
    inline bool operator==(TYPE a, TYPE b) { return KEY(a) == KEY(b); }                            \
    inline bool operator!=(TYPE a, TYPE b) { return KEY(a) != KEY(b); }                            \
    inline bool operator<(TYPE a, TYPE b) { return KEY(a) < KEY(b); }                              \
    inline bool operator>(TYPE a, TYPE b) { return KEY(a) > KEY(b); }                              \
    inline bool operator<=(TYPE a, TYPE b) { return KEY(a) <= KEY(b); }                            \
    inline bool operator>=(TYPE a, TYPE b) { return KEY(a) >= KEY(b); }
#define ROCPROFILER_CXX_HANDLE(v) ((v).handle)
#define ROCPROFILER_CXX_TRIPLET(v) std::make_tuple((v).major, (v).minor, (v).patch)
#define ROCPROFILER_CXX_DIM3(v) std::make_tuple((v).z, (v).y, (v).x)

ROCPROFILER_CXX_COMPARE(rocprofiler_context_id_t, ROCPROFILER_CXX_HANDLE)
ROCPROFILER_CXX_COMPARE(rocprofiler_buffer_id_t, ROCPROFILER_CXX_HANDLE)
ROCPROFILER_CXX_COMPARE(rocprofiler_agent_id_t, ROCPROFILER_CXX_HANDLE)
ROCPROFILER_CXX_COMPARE(rocprofiler_queue_id_t, ROCPROFILER_CXX_HANDLE)
ROCPROFILER_CXX_COMPARE(rocprofiler_stream_id_t, ROCPROFILER_CXX_HANDLE)
ROCPROFILER_CXX_COMPARE(rocprofiler_counter_id_t, ROCPROFILER_CXX_HANDLE)
ROCPROFILER_CXX_COMPARE(rocprofiler_counter_config_id_t, ROCPROFILER_CXX_HANDLE)
ROCPROFILER_CXX_COMPARE(rocprofiler_callback_thread_t, ROCPROFILER_CXX_HANDLE)
ROCPROFILER_CXX_COMPARE(rocprofiler_address_t, ROCPROFILER_CXX_HANDLE)
ROCPROFILER_CXX_COMPARE(rocprofiler_version_triplet_t, ROCPROFILER_CXX_TRIPLET)
ROCPROFILER_CXX_COMPARE(rocprofiler_dim3_t, ROCPROFILER_CXX_DIM3)

#undef ROCPROFILER_CXX_COMPARE
#undef ROCPROFILER_CXX_HANDLE
#undef ROCPROFILER_CXX_TRIPLET
#undef ROCPROFILER_CXX_DIM3

#endif
