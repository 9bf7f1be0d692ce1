// How a tool registers with the library.
#ifndef ROCPROFILER_SDK_REGISTRATION_H
#define ROCPROFILER_SDK_REGISTRATION_H

#include <rocprofiler-sdk/defines.h>
#include <rocprofiler-sdk/fwd.h>

ROCPROFILER_EXTERN_C_INIT

typedef struct rocprofiler_client_id_t
{
    size_t         size;
    const char*    name;  // set by the tool
    const uint32_t handle;
} rocprofiler_client_id_t;

// Finalizes a client: stops its contexts and calls its finalize function, once.
typedef void (*rocprofiler_client_finalize_t)(rocprofiler_client_id_t client_id);

// Creates contexts, buffers and services. They cannot be created later.
typedef int (*rocprofiler_tool_initialize_t)(rocprofiler_client_finalize_t finalize_func,
                                             void*                         tool_data);

// Flushes buffers and writes output. Called once.
typedef void (*rocprofiler_tool_finalize_t)(void* tool_data);

typedef struct rocprofiler_tool_configure_result_t
{
    size_t                        size;
    rocprofiler_tool_initialize_t initialize;
    rocprofiler_tool_finalize_t   finalize;
    void*                         tool_data;
} rocprofiler_tool_configure_result_t;

typedef rocprofiler_tool_configure_result_t* (*rocprofiler_configure_func_t)(
    uint32_t                 version,
    const char*              runtime_version,
    uint32_t                 priority,
    rocprofiler_client_id_t* client_id);

// Defined by the tool, called by the library. version is 10000 * major + 100 * minor + patch,
// priority the index of the client. A null result means: no interest. The result is copied.
ROCPROFILER_PUBLIC_API rocprofiler_tool_configure_result_t*
rocprofiler_configure(uint32_t                 version,
                      const char*              runtime_version,
                      uint32_t                 priority,
                      rocprofiler_client_id_t* client_id);

// Sets *status to 0 before initialization, -1 during it and 1 after it.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_is_initialized(int* status);

// Sets *status to 0 before finalization, -1 during it and 1 after it.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_is_finalized(int* status);

// Initializes the library now, with this configure function first. It may be null.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_force_configure(rocprofiler_configure_func_t configure_func);

// Called by a runtime (or on its behalf) with its live function tables. Returns 0 or a
// rocprofiler_status_t. lib_version is 10000 * major + 100 * minor + patch of the runtime.
ROCPROFILER_API int
rocprofiler_set_api_table(const char* name,
                          uint64_t    lib_version,
                          uint64_t    lib_instance,
                          void**      tables,
                          uint64_t    num_tables);

ROCPROFILER_EXTERN_C_FINI

#endif
