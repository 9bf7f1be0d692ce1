// Threads that the library creates, and on which of them a buffer's callback runs.
#ifndef ROCPROFILER_SDK_INTERNAL_THREADING_H
#define ROCPROFILER_SDK_INTERNAL_THREADING_H

#include <rocprofiler-sdk/defines.h>
#include <rocprofiler-sdk/fwd.h>

ROCPROFILER_EXTERN_C_INIT

typedef struct rocprofiler_callback_thread_t
{
    uint64_t handle;  // 0 = the default thread
} rocprofiler_callback_thread_t;

typedef void (*rocprofiler_internal_thread_library_cb_t)(rocprofiler_runtime_library_t library,
                                                         void*                         data);

// Registers callbacks before and after a library creates an internal thread. They run on the
// creating thread. libs: bits of rocprofiler_runtime_library_t, 0 = all.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_at_internal_thread_create(rocprofiler_internal_thread_library_cb_t precreate,
                                      rocprofiler_internal_thread_library_cb_t postcreate,
                                      int                                      libs,
                                      void*                                    data);

// Creates a thread that buffers can be assigned to.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_create_callback_thread(rocprofiler_callback_thread_t* cb_thread_id);

// Makes a buffer's callback run on the given thread.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_assign_callback_thread(rocprofiler_buffer_id_t       buffer_id,
                                   rocprofiler_callback_thread_t cb_thread_id);

ROCPROFILER_EXTERN_C_FINI

#endif
