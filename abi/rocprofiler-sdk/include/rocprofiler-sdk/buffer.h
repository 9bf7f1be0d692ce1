// Buffers: they collect records and hand them to a callback in batches.
#ifndef ROCPROFILER_SDK_BUFFER_H
#define ROCPROFILER_SDK_BUFFER_H

#include <rocprofiler-sdk/defines.h>
#include <rocprofiler-sdk/fwd.h>

#include <stddef.h>
#include <stdint.h>

ROCPROFILER_EXTERN_C_INIT

// Receives a batch. The headers and payloads are valid during the call.
// drop_count: records dropped since the buffer was created.
typedef void (*rocprofiler_buffer_tracing_cb_t)(rocprofiler_context_id_t      context,
                                                rocprofiler_buffer_id_t       buffer_id,
                                                rocprofiler_record_header_t** headers,
                                                size_t                        num_headers,
                                                void*                         data,
                                                uint64_t                      drop_count);

// Creates a buffer. size and watermark are bytes; the size is rounded up to pages.
// Legal only while the tool is initialized.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_create_buffer(rocprofiler_context_id_t        context,
                          size_t                          size,
                          size_t                          watermark,
                          rocprofiler_buffer_policy_t     policy,
                          rocprofiler_buffer_tracing_cb_t callback,
                          void*                           callback_data,
                          rocprofiler_buffer_id_t*        buffer_id);

// Hands the records to the callback, then destroys the buffer. Not while they are being handed over.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_destroy_buffer(rocprofiler_buffer_id_t buffer_id);

// Hands the records to the callback and waits for it. An empty buffer causes no callback.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_flush_buffer(rocprofiler_buffer_id_t buffer_id);

ROCPROFILER_EXTERN_C_FINI

#endif
