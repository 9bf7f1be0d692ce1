// Correlation ids that a tool chooses.
#ifndef ROCPROFILER_SDK_EXTERNAL_CORRELATION_H
#define ROCPROFILER_SDK_EXTERNAL_CORRELATION_H

#include <rocprofiler-sdk/defines.h>
#include <rocprofiler-sdk/fwd.h>

ROCPROFILER_EXTERN_C_INIT

typedef enum rocprofiler_external_correlation_id_request_kind_t
{
    ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_NONE                  = 0,
    ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_HSA_CORE_API          = 1,
    ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_HSA_AMD_EXT_API       = 2,
    ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_HSA_IMAGE_EXT_API     = 3,
    ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_HSA_FINALIZE_EXT_API  = 4,
    ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_HIP_RUNTIME_API       = 5,
    ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_HIP_COMPILER_API      = 6,
    ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_MARKER_CORE_API       = 7,
    ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_MARKER_CONTROL_API    = 8,
    ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_MARKER_NAME_API       = 9,
    ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_MEMORY_COPY           = 10,
    ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_KERNEL_DISPATCH       = 11,
    ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_SCRATCH_MEMORY        = 12,
    ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_RCCL_API              = 13,
    ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_OMPT                  = 14,
    ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_MEMORY_ALLOCATION     = 15,
    ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_ROCDECODE_API         = 16,
    ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_ROCJPEG_API           = 17,
    ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_MARKER_CORE_RANGE_API = 18,
    ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_LAST                  = 19,
} rocprofiler_external_correlation_id_request_kind_t;

// Supplies an external id. Returns 0 if *external_corr_id_value was set, nonzero to use the
// thread's stack instead. *external_corr_id_value is 0 on entry.
typedef int (*rocprofiler_external_correlation_id_request_cb_t)(
    rocprofiler_thread_id_t                            thread_id,
    rocprofiler_context_id_t                           context_id,
    rocprofiler_external_correlation_id_request_kind_t kind,
    rocprofiler_tracing_operation_t                    operation,
    uint64_t                                           internal_corr_id_value,
    rocprofiler_user_data_t*                           external_corr_id_value,
    void*                                              data);

// Makes the library ask for external ids. kinds null = all kinds.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_configure_external_correlation_id_request_service(
    rocprofiler_context_id_t                                  context_id,
    const rocprofiler_external_correlation_id_request_kind_t* kinds,
    size_t                                                    kinds_count,
    rocprofiler_external_correlation_id_request_cb_t          callback,
    void*                                                     callback_args);

// Sets *name and *name_len for a kind. Both pointers may be null.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_query_external_correlation_id_request_kind_name(
    rocprofiler_external_correlation_id_request_kind_t kind,
    const char**                                       name,
    uint64_t*                                          name_len);

// Pushes an external id on a thread's stack of this context. Threads without a stack use the
// top of the main thread's.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_push_external_correlation_id(rocprofiler_context_id_t context,
                                         rocprofiler_thread_id_t  tid,
                                         rocprofiler_user_data_t  external_correlation_id);

// Pops an external id. The value is 0 if the stack is empty; the pointer may be null.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_pop_external_correlation_id(rocprofiler_context_id_t context,
                                        rocprofiler_thread_id_t  tid,
                                        rocprofiler_user_data_t* external_correlation_id);

ROCPROFILER_EXTERN_C_FINI

#endif
