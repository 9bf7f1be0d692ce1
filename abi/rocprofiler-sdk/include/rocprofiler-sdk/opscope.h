// What opscope's library has beyond rocprofiler-sdk. AMD's library does not have it, so a tool that must run with both
// looks the function up with dlsym.
#ifndef ROCPROFILER_SDK_OPSCOPE_H
#define ROCPROFILER_SDK_OPSCOPE_H

#include <rocprofiler-sdk/defines.h>
#include <rocprofiler-sdk/fwd.h>

#include <stddef.h>
#include <stdint.h>

ROCPROFILER_EXTERN_C_INIT

// Emits one of the tool's own records into a buffer. The payload is copied. The buffer's callback receives the record
// among the others, with this category and kind in its header.
//
// category: 0 to 199, but not ROCPROFILER_BUFFER_CATEGORY_TRACING, whose payloads are the library's.
// kind: 0 to 65535.
// size: the bytes of the payload, at least 1. A payload that the buffer cannot hold is refused.
//
// Returns ROCPROFILER_STATUS_ERROR_BUFFER_NOT_FOUND if the buffer does not exist or was destroyed,
// ROCPROFILER_STATUS_ERROR_INVALID_ARGUMENT if another argument is not as described above, and
// ROCPROFILER_STATUS_ERROR_BUFFER_BUSY if the buffer is LOSSLESS and full, and would wait for the callback that makes
// this call. A full DISCARD buffer drops the record and counts it.
//
// A signal handler may call this. It never waits for a call that the handler interrupts: if the handler interrupts a
// call of this library, the record is dropped and counted, and the result is ROCPROFILER_STATUS_ERROR_BUFFER_BUSY. The
// first record of a thread uses the heap.
ROCPROFILER_API rocprofiler_status_t
opscope_rocprofiler_emit(rocprofiler_buffer_id_t buffer,
                         uint32_t                category,
                         uint32_t                kind,
                         const void*             payload,
                         size_t                  size);

ROCPROFILER_EXTERN_C_FINI

#endif
