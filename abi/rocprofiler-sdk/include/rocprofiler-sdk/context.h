// Contexts: sets of services that are started and stopped together.
#ifndef ROCPROFILER_SDK_CONTEXT_H
#define ROCPROFILER_SDK_CONTEXT_H

#include <rocprofiler-sdk/defines.h>
#include <rocprofiler-sdk/fwd.h>

ROCPROFILER_EXTERN_C_INIT

#define ROCPROFILER_CONTEXT_NONE ROCPROFILER_HANDLE_LITERAL(rocprofiler_context_id_t, 0)

// Creates a context. The handle in *context_id must be 0 before the call.
// Legal only while the tool is initialized.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_create_context(rocprofiler_context_id_t* context_id);

// Starts a context. A context that is already active stays so.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_start_context(rocprofiler_context_id_t context_id);

// Stops an active context. Does not flush its buffers.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_stop_context(rocprofiler_context_id_t context_id);

// Sets *status to 1 if the context is active, else to 0.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_context_is_active(rocprofiler_context_id_t context_id, int* status);

// Sets *status to 1 if the context exists, else to 0.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_context_is_valid(rocprofiler_context_id_t context_id, int* status);

ROCPROFILER_EXTERN_C_FINI

#endif
