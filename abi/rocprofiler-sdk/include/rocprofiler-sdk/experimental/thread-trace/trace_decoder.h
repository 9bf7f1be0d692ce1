// Decoding of thread traces. The decoder library is never available.
#ifndef ROCPROFILER_SDK_EXPERIMENTAL_THREAD_TRACE_DECODER_H
#define ROCPROFILER_SDK_EXPERIMENTAL_THREAD_TRACE_DECODER_H

#include <rocprofiler-sdk/defines.h>
#include <rocprofiler-sdk/experimental/thread-trace/trace_decoder_types.h>
#include <rocprofiler-sdk/fwd.h>

ROCPROFILER_EXTERN_C_INIT

typedef struct rocprofiler_thread_trace_decoder_id_t
{
    uint64_t handle;
} rocprofiler_thread_trace_decoder_id_t;

typedef void (*rocprofiler_thread_trace_decoder_callback_t)(
    rocprofiler_thread_trace_decoder_record_type_t record_type_id,
    void*                                          trace_events,
    uint64_t                                       trace_size,
    void*                                          userdata);

// Returns ROCPROFILER_STATUS_ERROR_NOT_AVAILABLE.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_thread_trace_decoder_create(rocprofiler_thread_trace_decoder_id_t* id,
                                        const char*                            path);

// Does nothing.
ROCPROFILER_API void
rocprofiler_thread_trace_decoder_destroy(rocprofiler_thread_trace_decoder_id_t id);

ROCPROFILER_API rocprofiler_status_t
rocprofiler_thread_trace_decoder_codeobj_load(rocprofiler_thread_trace_decoder_id_t id,
                                              uint64_t                              load_id,
                                              uint64_t                              load_addr,
                                              uint64_t                              load_size,
                                              const void*                           data,
                                              uint64_t                              size);

ROCPROFILER_API rocprofiler_status_t
rocprofiler_thread_trace_decoder_codeobj_unload(rocprofiler_thread_trace_decoder_id_t id,
                                                uint64_t                              load_id);

ROCPROFILER_API rocprofiler_status_t
rocprofiler_trace_decode(rocprofiler_thread_trace_decoder_id_t       id,
                         rocprofiler_thread_trace_decoder_callback_t callback,
                         void*                                       data,
                         uint64_t                                    size,
                         void*                                       userdata);

// Returns null.
ROCPROFILER_API const char*
rocprofiler_thread_trace_decoder_info_string(rocprofiler_thread_trace_decoder_id_t   id,
                                             rocprofiler_thread_trace_decoder_info_t info);

ROCPROFILER_EXTERN_C_FINI

#endif
