// Tracing by callbacks on the thread where the event happens, and their payloads. A payload and
// the strings in it are valid during the callback only, unless said otherwise.
#ifndef ROCPROFILER_SDK_CALLBACK_TRACING_H
#define ROCPROFILER_SDK_CALLBACK_TRACING_H

#include <rocprofiler-sdk/defines.h>
#include <rocprofiler-sdk/fwd.h>
#include <rocprofiler-sdk/hip.h>
#include <rocprofiler-sdk/hsa.h>
#include <rocprofiler-sdk/marker.h>
#include <rocprofiler-sdk/ompt.h>
#include <rocprofiler-sdk/rccl.h>
#include <rocprofiler-sdk/rocdecode.h>
#include <rocprofiler-sdk/rocjpeg.h>

#include <stddef.h>
#include <stdint.h>

ROCPROFILER_EXTERN_C_INIT

typedef enum rocprofiler_code_object_storage_type_t
{
    ROCPROFILER_CODE_OBJECT_STORAGE_TYPE_NONE   = 0,
    ROCPROFILER_CODE_OBJECT_STORAGE_TYPE_FILE   = 1,
    ROCPROFILER_CODE_OBJECT_STORAGE_TYPE_MEMORY = 2,
    ROCPROFILER_CODE_OBJECT_STORAGE_TYPE_LAST   = 3,
} rocprofiler_code_object_storage_type_t;

#define ROCPROFILER_CODE_OBJECT_ID_NONE ROCPROFILER_UINT64_C(0)

typedef struct rocprofiler_callback_tracing_hsa_api_data_t
{
    uint64_t                     size;
    rocprofiler_hsa_api_args_t   args;
    rocprofiler_hsa_api_retval_t retval;
} rocprofiler_callback_tracing_hsa_api_data_t;

typedef struct rocprofiler_callback_tracing_hip_api_data_t
{
    uint64_t                     size;
    rocprofiler_hip_api_args_t   args;
    rocprofiler_hip_api_retval_t retval;
} rocprofiler_callback_tracing_hip_api_data_t;

typedef struct rocprofiler_callback_tracing_marker_api_data_t
{
    uint64_t                        size;
    rocprofiler_marker_api_args_t   args;
    rocprofiler_marker_api_retval_t retval;
} rocprofiler_callback_tracing_marker_api_data_t;

typedef struct rocprofiler_callback_tracing_rccl_api_data_t
{
    uint64_t                      size;
    rocprofiler_rccl_api_args_t   args;
    rocprofiler_rccl_api_retval_t retval;
} rocprofiler_callback_tracing_rccl_api_data_t;

typedef struct rocprofiler_callback_tracing_rocdecode_api_data_t
{
    uint64_t                           size;
    rocprofiler_rocdecode_api_args_t   args;
    rocprofiler_rocdecode_api_retval_t retval;
} rocprofiler_callback_tracing_rocdecode_api_data_t;

typedef struct rocprofiler_callback_tracing_rocjpeg_api_data_t
{
    uint64_t                         size;
    rocprofiler_rocjpeg_api_args_t   args;
    rocprofiler_rocjpeg_api_retval_t retval;
} rocprofiler_callback_tracing_rocjpeg_api_data_t;

typedef struct rocprofiler_callback_tracing_ompt_data_t
{
    uint64_t                size;
    rocprofiler_ompt_args_t args;
} rocprofiler_callback_tracing_ompt_data_t;

// Phases LOAD and UNLOAD.
typedef struct rocprofiler_callback_tracing_code_object_load_data_t
{
    uint64_t size;
    uint64_t code_object_id;  // from 1
    union
    {
        rocprofiler_agent_id_t rocp_agent;  // the older name
        rocprofiler_agent_id_t agent_id;
    };
    rocprofiler_hsa_agent_t                hsa_agent;
    const char*                            uri;
    uint64_t                               load_base;
    uint64_t                               load_size;   // bytes
    int64_t                                load_delta;  // bytes, load address minus linked address
    rocprofiler_code_object_storage_type_t storage_type;
    union
    {
        int storage_file;  // a file descriptor, for FILE
        __extension__ struct
        {
            uint64_t memory_base;  // for MEMORY
            uint64_t memory_size;  // bytes, for MEMORY
        };
    };
} rocprofiler_callback_tracing_code_object_load_data_t;

// Phases LOAD and UNLOAD.
typedef struct rocprofiler_callback_tracing_code_object_kernel_symbol_register_data_t
{
    uint64_t              size;
    uint64_t              kernel_id;  // from 1, as in dispatch records
    uint64_t              code_object_id;
    const char*           kernel_name;  // lives as long as the process
    uint64_t              kernel_object;
    uint32_t              kernarg_segment_size;  // bytes
    uint32_t              kernarg_segment_alignment;  // bytes
    uint32_t              group_segment_size;  // bytes
    uint32_t              private_segment_size;  // bytes
    uint32_t              sgpr_count;
    uint32_t              arch_vgpr_count;
    uint32_t              accum_vgpr_count;
    int64_t               kernel_code_entry_byte_offset;
    rocprofiler_address_t kernel_address;
} rocprofiler_callback_tracing_code_object_kernel_symbol_register_data_t;

// Phase LOAD.
typedef struct rocprofiler_callback_tracing_code_object_host_kernel_symbol_register_data_t
{
    uint64_t              size;
    uint64_t              host_function_id;
    uint64_t              kernel_id;
    uint64_t              code_object_id;
    rocprofiler_address_t host_function;
    rocprofiler_address_t modules;
    const char*           device_function;
    uint32_t              thread_limit;
    rocprofiler_dim3_t    thread_ids;
    rocprofiler_dim3_t    block_ids;
    rocprofiler_dim3_t    block_dims;
    rocprofiler_dim3_t    grid_dims;
    uint64_t              workgroup_size;
} rocprofiler_callback_tracing_code_object_host_kernel_symbol_register_data_t;

typedef struct rocprofiler_callback_tracing_kernel_dispatch_data_t
{
    uint64_t                           size;
    rocprofiler_timestamp_t            start_timestamp;  // 0 before COMPLETE
    rocprofiler_timestamp_t            end_timestamp;  // 0 before COMPLETE
    rocprofiler_kernel_dispatch_info_t dispatch_info;
} rocprofiler_callback_tracing_kernel_dispatch_data_t;

typedef struct rocprofiler_callback_tracing_memory_copy_data_t
{
    uint64_t                size;
    rocprofiler_timestamp_t start_timestamp;  // 0 in ENTER
    rocprofiler_timestamp_t end_timestamp;  // 0 in ENTER
    rocprofiler_agent_id_t  dst_agent_id;
    rocprofiler_agent_id_t  src_agent_id;
    uint64_t                bytes;
    rocprofiler_address_t   dst_address;
    rocprofiler_address_t   src_address;
} rocprofiler_callback_tracing_memory_copy_data_t;

typedef struct rocprofiler_callback_tracing_memory_allocation_data_t
{
    uint64_t                size;
    rocprofiler_timestamp_t start_timestamp;  // 0 in ENTER
    rocprofiler_timestamp_t end_timestamp;  // 0 in ENTER
    rocprofiler_agent_id_t  agent_id;
    rocprofiler_address_t   address;
    uint64_t                allocation_size;  // bytes, 0 for FREE
} rocprofiler_callback_tracing_memory_allocation_data_t;

typedef struct rocprofiler_callback_tracing_scratch_memory_data_t
{
    uint64_t                          size;
    rocprofiler_agent_id_t            agent_id;
    rocprofiler_queue_id_t            queue_id;
    rocprofiler_scratch_alloc_flag_t  flags;
    int32_t                           args_kind;  // ROCPROFILER_SCRATCH_MEMORY_ARGS_*
    rocprofiler_scratch_memory_args_t args;
} rocprofiler_callback_tracing_scratch_memory_data_t;

typedef struct rocprofiler_callback_tracing_runtime_initialization_data_t
{
    uint64_t size;
    uint64_t version;  // 10000 * major + 100 * minor + patch
    uint64_t instance;  // runtimes of this name before it
} rocprofiler_callback_tracing_runtime_initialization_data_t;

typedef struct rocprofiler_callback_tracing_hip_stream_data_t
{
    uint64_t                size;
    rocprofiler_stream_id_t stream_id;
    rocprofiler_address_t   stream_value;
} rocprofiler_callback_tracing_hip_stream_data_t;

// Receives an event. *user_data is 0 at first and kept between the phases of an event.
typedef void (*rocprofiler_callback_tracing_cb_t)(rocprofiler_callback_tracing_record_t record,
                                                  rocprofiler_user_data_t*              user_data,
                                                  void* callback_data);

// A nonzero result ends the iteration.
typedef int (*rocprofiler_callback_tracing_kind_cb_t)(rocprofiler_callback_tracing_kind_t kind,
                                                      void*                               data);

// A nonzero result ends the iteration.
typedef int (*rocprofiler_callback_tracing_kind_operation_cb_t)(
    rocprofiler_callback_tracing_kind_t kind,
    rocprofiler_tracing_operation_t     operation,
    void*                               data);

// Receives one argument of a call. arg_type is a mangled C++ type name, arg_indirection_count
// the depth of pointers, arg_dereference_count how many of them arg_value_str followed. A
// nonzero result ends the iteration.
typedef int (*rocprofiler_callback_tracing_operation_args_cb_t)(
    rocprofiler_callback_tracing_kind_t kind,
    rocprofiler_tracing_operation_t     operation,
    uint32_t                            arg_number,
    const void* const                   arg_value_addr,
    int32_t                             arg_indirection_count,
    const char*                         arg_type,
    const char*                         arg_name,
    const char*                         arg_value_str,
    int32_t                             arg_dereference_count,
    void*                               data);

// Calls back for a kind while the context is active. operations null and 0 = all.
// Legal only while the tool is initialized.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_configure_callback_tracing_service(rocprofiler_context_id_t               context_id,
                                               rocprofiler_callback_tracing_kind_t    kind,
                                               const rocprofiler_tracing_operation_t* operations,
                                               size_t                            operations_count,
                                               rocprofiler_callback_tracing_cb_t callback,
                                               void*                             callback_args);

// Sets *name and *name_len for a kind. Both pointers may be null.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_query_callback_tracing_kind_name(rocprofiler_callback_tracing_kind_t kind,
                                             const char**                        name,
                                             uint64_t*                           name_len);

// Sets *name and *name_len for an operation. Both pointers may be null.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_query_callback_tracing_kind_operation_name(rocprofiler_callback_tracing_kind_t kind,
                                                       rocprofiler_tracing_operation_t operation,
                                                       const char**                    name,
                                                       uint64_t*                       name_len);

// Calls the callback for every kind, NONE included.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_iterate_callback_tracing_kinds(rocprofiler_callback_tracing_kind_cb_t callback,
                                           void*                                  data);

// Calls the callback for every operation of a kind.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_iterate_callback_tracing_kind_operations(
    rocprofiler_callback_tracing_kind_t              kind,
    rocprofiler_callback_tracing_kind_operation_cb_t callback,
    void*                                            data);

// Calls the callback for every argument of a call. Pointers to numbers are followed at most
// max_dereference_count times.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_iterate_callback_tracing_kind_operation_args(
    rocprofiler_callback_tracing_record_t            record,
    rocprofiler_callback_tracing_operation_args_cb_t callback,
    int32_t                                          max_dereference_count,
    void*                                            user_data);

ROCPROFILER_EXTERN_C_FINI

#endif
