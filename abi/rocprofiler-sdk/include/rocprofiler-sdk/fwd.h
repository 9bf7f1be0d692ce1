// Statuses, enumerations, identifiers and the structs that several services share.
#ifndef ROCPROFILER_SDK_FWD_H
#define ROCPROFILER_SDK_FWD_H

#include <rocprofiler-sdk/defines.h>

#include <stddef.h>
#include <stdint.h>

ROCPROFILER_EXTERN_C_INIT

// Result of a call.
typedef enum rocprofiler_status_t
{
    ROCPROFILER_STATUS_SUCCESS                          = 0,
    ROCPROFILER_STATUS_ERROR                            = 1,
    ROCPROFILER_STATUS_ERROR_CONTEXT_NOT_FOUND          = 2,
    ROCPROFILER_STATUS_ERROR_BUFFER_NOT_FOUND           = 3,
    ROCPROFILER_STATUS_ERROR_KIND_NOT_FOUND             = 4,
    ROCPROFILER_STATUS_ERROR_OPERATION_NOT_FOUND        = 5,
    ROCPROFILER_STATUS_ERROR_THREAD_NOT_FOUND           = 6,
    ROCPROFILER_STATUS_ERROR_AGENT_NOT_FOUND            = 7,
    ROCPROFILER_STATUS_ERROR_COUNTER_NOT_FOUND          = 8,
    ROCPROFILER_STATUS_ERROR_CONTEXT_ERROR              = 9,
    ROCPROFILER_STATUS_ERROR_CONTEXT_INVALID            = 10,
    ROCPROFILER_STATUS_ERROR_CONTEXT_NOT_STARTED        = 11,
    ROCPROFILER_STATUS_ERROR_CONTEXT_CONFLICT           = 12,
    ROCPROFILER_STATUS_ERROR_CONTEXT_ID_NOT_ZERO        = 13,
    ROCPROFILER_STATUS_ERROR_BUFFER_BUSY                = 14,
    ROCPROFILER_STATUS_ERROR_SERVICE_ALREADY_CONFIGURED = 15,
    ROCPROFILER_STATUS_ERROR_CONFIGURATION_LOCKED       = 16,
    ROCPROFILER_STATUS_ERROR_NOT_IMPLEMENTED            = 17,
    ROCPROFILER_STATUS_ERROR_INCOMPATIBLE_ABI           = 18,
    ROCPROFILER_STATUS_ERROR_INVALID_ARGUMENT           = 19,
    ROCPROFILER_STATUS_ERROR_METRIC_NOT_VALID_FOR_AGENT = 20,
    ROCPROFILER_STATUS_ERROR_FINALIZED                  = 21,
    ROCPROFILER_STATUS_ERROR_HSA_NOT_LOADED             = 22,
    ROCPROFILER_STATUS_ERROR_DIM_NOT_FOUND              = 23,
    ROCPROFILER_STATUS_ERROR_PROFILE_COUNTER_NOT_FOUND  = 24,
    ROCPROFILER_STATUS_ERROR_AST_GENERATION_FAILED      = 25,
    ROCPROFILER_STATUS_ERROR_AST_NOT_FOUND              = 26,
    ROCPROFILER_STATUS_ERROR_AQL_NO_EVENT_COORD         = 27,
    ROCPROFILER_STATUS_ERROR_INCOMPATIBLE_KERNEL        = 28,
    ROCPROFILER_STATUS_ERROR_OUT_OF_RESOURCES           = 29,
    ROCPROFILER_STATUS_ERROR_PROFILE_NOT_FOUND          = 30,
    ROCPROFILER_STATUS_ERROR_AGENT_DISPATCH_CONFLICT    = 31,
    ROCPROFILER_STATUS_INTERNAL_NO_AGENT_CONTEXT        = 32,
    ROCPROFILER_STATUS_ERROR_SAMPLE_RATE_EXCEEDED       = 33,
    ROCPROFILER_STATUS_ERROR_NO_PROFILE_QUEUE           = 34,
    ROCPROFILER_STATUS_ERROR_NO_HARDWARE_COUNTERS       = 35,
    ROCPROFILER_STATUS_ERROR_AGENT_MISMATCH             = 36,
    ROCPROFILER_STATUS_ERROR_NOT_AVAILABLE              = 37,
    ROCPROFILER_STATUS_ERROR_EXCEEDS_HW_LIMIT           = 38,
    ROCPROFILER_STATUS_ERROR_AGENT_ARCH_NOT_SUPPORTED   = 39,
    ROCPROFILER_STATUS_ERROR_PERMISSION_DENIED          = 40,
    ROCPROFILER_STATUS_LAST                             = 41,
} rocprofiler_status_t;

// First part of a record's type: see rocprofiler_record_header_t.
typedef enum rocprofiler_buffer_category_t
{
    ROCPROFILER_BUFFER_CATEGORY_NONE        = 0,
    ROCPROFILER_BUFFER_CATEGORY_TRACING     = 1,
    ROCPROFILER_BUFFER_CATEGORY_PC_SAMPLING = 2,
    ROCPROFILER_BUFFER_CATEGORY_COUNTERS    = 3,
    ROCPROFILER_BUFFER_CATEGORY_LAST        = 4,
} rocprofiler_buffer_category_t;

typedef enum rocprofiler_agent_type_t
{
    ROCPROFILER_AGENT_TYPE_NONE = 0,
    ROCPROFILER_AGENT_TYPE_CPU  = 1,
    ROCPROFILER_AGENT_TYPE_GPU  = 2,
    ROCPROFILER_AGENT_TYPE_LAST = 3,
} rocprofiler_agent_type_t;

typedef enum rocprofiler_callback_phase_t
{
    ROCPROFILER_CALLBACK_PHASE_NONE   = 0,
    ROCPROFILER_CALLBACK_PHASE_ENTER  = 1,
    ROCPROFILER_CALLBACK_PHASE_LOAD   = ROCPROFILER_CALLBACK_PHASE_ENTER,
    ROCPROFILER_CALLBACK_PHASE_EXIT   = 2,
    ROCPROFILER_CALLBACK_PHASE_UNLOAD = ROCPROFILER_CALLBACK_PHASE_EXIT,
    ROCPROFILER_CALLBACK_PHASE_LAST   = 3,
} rocprofiler_callback_phase_t;

// What a callback tracing service observes.
typedef enum rocprofiler_callback_tracing_kind_t
{
    ROCPROFILER_CALLBACK_TRACING_NONE                   = 0,
    ROCPROFILER_CALLBACK_TRACING_HSA_CORE_API           = 1,
    ROCPROFILER_CALLBACK_TRACING_HSA_AMD_EXT_API        = 2,
    ROCPROFILER_CALLBACK_TRACING_HSA_IMAGE_EXT_API      = 3,
    ROCPROFILER_CALLBACK_TRACING_HSA_FINALIZE_EXT_API   = 4,
    ROCPROFILER_CALLBACK_TRACING_HIP_RUNTIME_API        = 5,
    ROCPROFILER_CALLBACK_TRACING_HIP_COMPILER_API       = 6,
    ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_API        = 7,
    ROCPROFILER_CALLBACK_TRACING_MARKER_CONTROL_API     = 8,
    ROCPROFILER_CALLBACK_TRACING_MARKER_NAME_API        = 9,
    ROCPROFILER_CALLBACK_TRACING_CODE_OBJECT            = 10,
    ROCPROFILER_CALLBACK_TRACING_SCRATCH_MEMORY         = 11,
    ROCPROFILER_CALLBACK_TRACING_KERNEL_DISPATCH        = 12,
    ROCPROFILER_CALLBACK_TRACING_MEMORY_COPY            = 13,
    ROCPROFILER_CALLBACK_TRACING_RCCL_API               = 14,
    ROCPROFILER_CALLBACK_TRACING_OMPT                   = 15,
    ROCPROFILER_CALLBACK_TRACING_MEMORY_ALLOCATION      = 16,
    ROCPROFILER_CALLBACK_TRACING_RUNTIME_INITIALIZATION = 17,
    ROCPROFILER_CALLBACK_TRACING_ROCDECODE_API          = 18,
    ROCPROFILER_CALLBACK_TRACING_ROCJPEG_API            = 19,
    ROCPROFILER_CALLBACK_TRACING_HIP_STREAM             = 20,
    ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_RANGE_API  = 21,
    ROCPROFILER_CALLBACK_TRACING_LAST                   = 22,
} rocprofiler_callback_tracing_kind_t;

// What a buffer tracing service records. The _EXT kinds also hold arguments and results.
typedef enum rocprofiler_buffer_tracing_kind_t
{
    ROCPROFILER_BUFFER_TRACING_NONE                      = 0,
    ROCPROFILER_BUFFER_TRACING_HSA_CORE_API              = 1,
    ROCPROFILER_BUFFER_TRACING_HSA_AMD_EXT_API           = 2,
    ROCPROFILER_BUFFER_TRACING_HSA_IMAGE_EXT_API         = 3,
    ROCPROFILER_BUFFER_TRACING_HSA_FINALIZE_EXT_API      = 4,
    ROCPROFILER_BUFFER_TRACING_HIP_RUNTIME_API           = 5,
    ROCPROFILER_BUFFER_TRACING_HIP_COMPILER_API          = 6,
    ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API           = 7,
    ROCPROFILER_BUFFER_TRACING_MARKER_CONTROL_API        = 8,
    ROCPROFILER_BUFFER_TRACING_MARKER_NAME_API           = 9,
    ROCPROFILER_BUFFER_TRACING_MEMORY_COPY               = 10,
    ROCPROFILER_BUFFER_TRACING_KERNEL_DISPATCH           = 11,
    ROCPROFILER_BUFFER_TRACING_SCRATCH_MEMORY            = 12,
    ROCPROFILER_BUFFER_TRACING_CORRELATION_ID_RETIREMENT = 13,
    ROCPROFILER_BUFFER_TRACING_RCCL_API                  = 14,
    ROCPROFILER_BUFFER_TRACING_OMPT                      = 15,
    ROCPROFILER_BUFFER_TRACING_MEMORY_ALLOCATION         = 16,
    ROCPROFILER_BUFFER_TRACING_RUNTIME_INITIALIZATION    = 17,
    ROCPROFILER_BUFFER_TRACING_ROCDECODE_API             = 18,
    ROCPROFILER_BUFFER_TRACING_ROCJPEG_API               = 19,
    ROCPROFILER_BUFFER_TRACING_HIP_STREAM                = 20,
    ROCPROFILER_BUFFER_TRACING_HIP_RUNTIME_API_EXT       = 21,
    ROCPROFILER_BUFFER_TRACING_HIP_COMPILER_API_EXT      = 22,
    ROCPROFILER_BUFFER_TRACING_ROCDECODE_API_EXT         = 23,
    ROCPROFILER_BUFFER_TRACING_KFD_EVENT_PAGE_MIGRATE    = 24,
    ROCPROFILER_BUFFER_TRACING_KFD_EVENT_PAGE_FAULT      = 25,
    ROCPROFILER_BUFFER_TRACING_KFD_EVENT_QUEUE           = 26,
    ROCPROFILER_BUFFER_TRACING_KFD_EVENT_UNMAP_FROM_GPU  = 27,
    ROCPROFILER_BUFFER_TRACING_KFD_EVENT_DROPPED_EVENTS  = 28,
    ROCPROFILER_BUFFER_TRACING_KFD_PAGE_MIGRATE          = 29,
    ROCPROFILER_BUFFER_TRACING_KFD_PAGE_FAULT            = 30,
    ROCPROFILER_BUFFER_TRACING_KFD_QUEUE                 = 31,
    ROCPROFILER_BUFFER_TRACING_MARKER_CORE_RANGE_API     = 32,
    ROCPROFILER_BUFFER_TRACING_LAST                      = 33,
} rocprofiler_buffer_tracing_kind_t;

typedef enum rocprofiler_code_object_operation_t
{
    ROCPROFILER_CODE_OBJECT_NONE                          = 0,
    ROCPROFILER_CODE_OBJECT_LOAD                          = 1,
    ROCPROFILER_CODE_OBJECT_DEVICE_KERNEL_SYMBOL_REGISTER = 2,
    ROCPROFILER_CODE_OBJECT_HOST_KERNEL_SYMBOL_REGISTER   = 3,
    ROCPROFILER_CODE_OBJECT_LAST                          = 4,
} rocprofiler_code_object_operation_t;

typedef enum rocprofiler_hip_stream_operation_t
{
    ROCPROFILER_HIP_STREAM_NONE    = 0,
    ROCPROFILER_HIP_STREAM_CREATE  = 1,
    ROCPROFILER_HIP_STREAM_DESTROY = 2,
    ROCPROFILER_HIP_STREAM_SET     = 3,
    ROCPROFILER_HIP_STREAM_LAST    = 4,
} rocprofiler_hip_stream_operation_t;

typedef enum rocprofiler_memory_copy_operation_t
{
    ROCPROFILER_MEMORY_COPY_NONE             = 0,
    ROCPROFILER_MEMORY_COPY_HOST_TO_HOST     = 1,
    ROCPROFILER_MEMORY_COPY_HOST_TO_DEVICE   = 2,
    ROCPROFILER_MEMORY_COPY_DEVICE_TO_HOST   = 3,
    ROCPROFILER_MEMORY_COPY_DEVICE_TO_DEVICE = 4,
    ROCPROFILER_MEMORY_COPY_LAST             = 5,
} rocprofiler_memory_copy_operation_t;

typedef enum rocprofiler_memory_allocation_operation_t
{
    ROCPROFILER_MEMORY_ALLOCATION_NONE          = 0,
    ROCPROFILER_MEMORY_ALLOCATION_ALLOCATE      = 1,
    ROCPROFILER_MEMORY_ALLOCATION_VMEM_ALLOCATE = 2,
    ROCPROFILER_MEMORY_ALLOCATION_FREE          = 3,
    ROCPROFILER_MEMORY_ALLOCATION_VMEM_FREE     = 4,
    ROCPROFILER_MEMORY_ALLOCATION_LAST          = 5,
} rocprofiler_memory_allocation_operation_t;

// Buffer records have COMPLETE only. Callbacks have ENQUEUE with the phases ENTER and EXIT,
// then COMPLETE with the phase NONE.
typedef enum rocprofiler_kernel_dispatch_operation_t
{
    ROCPROFILER_KERNEL_DISPATCH_NONE     = 0,
    ROCPROFILER_KERNEL_DISPATCH_ENQUEUE  = 1,
    ROCPROFILER_KERNEL_DISPATCH_COMPLETE = 2,
    ROCPROFILER_KERNEL_DISPATCH_LAST     = 3,
} rocprofiler_kernel_dispatch_operation_t;

typedef enum rocprofiler_pc_sampling_method_t
{
    ROCPROFILER_PC_SAMPLING_METHOD_NONE       = 0,
    ROCPROFILER_PC_SAMPLING_METHOD_STOCHASTIC = 1,
    ROCPROFILER_PC_SAMPLING_METHOD_HOST_TRAP  = 2,
    ROCPROFILER_PC_SAMPLING_METHOD_LAST       = 3,
} rocprofiler_pc_sampling_method_t;

typedef enum rocprofiler_pc_sampling_unit_t
{
    ROCPROFILER_PC_SAMPLING_UNIT_NONE         = 0,
    ROCPROFILER_PC_SAMPLING_UNIT_INSTRUCTIONS = 1,
    ROCPROFILER_PC_SAMPLING_UNIT_CYCLES       = 2,
    ROCPROFILER_PC_SAMPLING_UNIT_TIME         = 3,
    ROCPROFILER_PC_SAMPLING_UNIT_LAST         = 4,
} rocprofiler_pc_sampling_unit_t;

// What happens when a buffer is full: DISCARD drops the record, LOSSLESS waits for space.
typedef enum rocprofiler_buffer_policy_t
{
    ROCPROFILER_BUFFER_POLICY_NONE     = 0,
    ROCPROFILER_BUFFER_POLICY_DISCARD  = 1,
    ROCPROFILER_BUFFER_POLICY_LOSSLESS = 2,
    ROCPROFILER_BUFFER_POLICY_LAST     = 3,
} rocprofiler_buffer_policy_t;

typedef enum rocprofiler_scratch_memory_operation_t
{
    ROCPROFILER_SCRATCH_MEMORY_NONE          = 0,
    ROCPROFILER_SCRATCH_MEMORY_ALLOC         = 1,
    ROCPROFILER_SCRATCH_MEMORY_FREE          = 2,
    ROCPROFILER_SCRATCH_MEMORY_ASYNC_RECLAIM = 3,
    ROCPROFILER_SCRATCH_MEMORY_LAST          = 4,
} rocprofiler_scratch_memory_operation_t;

// Libraries that create internal threads. Bits, to be combined.
typedef enum rocprofiler_runtime_library_t
{
    ROCPROFILER_LIBRARY           = (1 << 0),
    ROCPROFILER_HSA_LIBRARY       = (1 << 1),
    ROCPROFILER_HIP_LIBRARY       = (1 << 2),
    ROCPROFILER_MARKER_LIBRARY    = (1 << 3),
    ROCPROFILER_RCCL_LIBRARY      = (1 << 4),
    ROCPROFILER_ROCDECODE_LIBRARY = (1 << 5),
    ROCPROFILER_ROCJPEG_LIBRARY   = (1 << 6),
    ROCPROFILER_LIBRARY_LAST      = ROCPROFILER_ROCJPEG_LIBRARY,
} rocprofiler_runtime_library_t;

// Function tables that can be intercepted. Bits, to be combined.
typedef enum rocprofiler_intercept_table_t
{
    ROCPROFILER_HSA_TABLE            = (1 << 0),
    ROCPROFILER_HIP_RUNTIME_TABLE    = (1 << 1),
    ROCPROFILER_HIP_COMPILER_TABLE   = (1 << 2),
    ROCPROFILER_MARKER_CORE_TABLE    = (1 << 3),
    ROCPROFILER_MARKER_CONTROL_TABLE = (1 << 4),
    ROCPROFILER_MARKER_NAME_TABLE    = (1 << 5),
    ROCPROFILER_RCCL_TABLE           = (1 << 6),
    ROCPROFILER_ROCDECODE_TABLE      = (1 << 7),
    ROCPROFILER_ROCJPEG_TABLE        = (1 << 8),
    ROCPROFILER_TABLE_LAST           = ROCPROFILER_ROCJPEG_TABLE,
} rocprofiler_intercept_table_t;

typedef enum rocprofiler_runtime_initialization_operation_t
{
    ROCPROFILER_RUNTIME_INITIALIZATION_NONE      = 0,
    ROCPROFILER_RUNTIME_INITIALIZATION_HSA       = 1,
    ROCPROFILER_RUNTIME_INITIALIZATION_HIP       = 2,
    ROCPROFILER_RUNTIME_INITIALIZATION_MARKER    = 3,
    ROCPROFILER_RUNTIME_INITIALIZATION_RCCL      = 4,
    ROCPROFILER_RUNTIME_INITIALIZATION_ROCDECODE = 5,
    ROCPROFILER_RUNTIME_INITIALIZATION_ROCJPEG   = 6,
    ROCPROFILER_RUNTIME_INITIALIZATION_LAST      = 7,
} rocprofiler_runtime_initialization_operation_t;

typedef enum rocprofiler_counter_info_version_id_t
{
    ROCPROFILER_COUNTER_INFO_VERSION_NONE = 0,
    ROCPROFILER_COUNTER_INFO_VERSION_0    = 1,
    ROCPROFILER_COUNTER_INFO_VERSION_1    = 2,
    ROCPROFILER_COUNTER_INFO_VERSION_LAST = 3,
} rocprofiler_counter_info_version_id_t;

// Kinds of records in the category COUNTERS.
typedef enum rocprofiler_counter_record_kind_t
{
    ROCPROFILER_COUNTER_RECORD_NONE                             = 0,
    ROCPROFILER_COUNTER_RECORD_PROFILE_COUNTING_DISPATCH_HEADER = 1,
    ROCPROFILER_COUNTER_RECORD_VALUE                            = 2,
    ROCPROFILER_COUNTER_RECORD_LAST                             = 3,
} rocprofiler_counter_record_kind_t;

typedef enum rocprofiler_counter_flag_t
{
    ROCPROFILER_COUNTER_FLAG_NONE              = 0,
    ROCPROFILER_COUNTER_FLAG_ASYNC             = 1,
    ROCPROFILER_COUNTER_FLAG_APPEND_DEFINITION = 2,
    ROCPROFILER_COUNTER_FLAG_LAST              = 3,
} rocprofiler_counter_flag_t;

// Kinds of records in the category PC_SAMPLING.
typedef enum rocprofiler_pc_sampling_record_kind_t
{
    ROCPROFILER_PC_SAMPLING_RECORD_NONE                 = 0,
    ROCPROFILER_PC_SAMPLING_RECORD_INVALID_SAMPLE       = 1,
    ROCPROFILER_PC_SAMPLING_RECORD_HOST_TRAP_V0_SAMPLE  = 2,
    ROCPROFILER_PC_SAMPLING_RECORD_STOCHASTIC_V0_SAMPLE = 3,
    ROCPROFILER_PC_SAMPLING_RECORD_LAST                 = 4,
} rocprofiler_pc_sampling_record_kind_t;

typedef uint64_t rocprofiler_timestamp_t;  // nanoseconds on the boot clock
typedef uint64_t rocprofiler_thread_id_t;  // the kernel's thread id
typedef int32_t  rocprofiler_tracing_operation_t;
typedef uint64_t rocprofiler_kernel_id_t;
typedef uint64_t rocprofiler_dispatch_id_t;
typedef uint64_t rocprofiler_counter_instance_id_t;
typedef uint64_t rocprofiler_counter_dimension_id_t;

// A value that belongs to the tool.
typedef union rocprofiler_user_data_t
{
    uint64_t value;
    void*    ptr;
} rocprofiler_user_data_t;

typedef union rocprofiler_address_t
{
    uint64_t    handle;
    uint64_t    value;
    const void* ptr;
} rocprofiler_address_t;

typedef struct rocprofiler_uuid_t
{
    uint8_t bytes[16];
} rocprofiler_uuid_t;

typedef struct rocprofiler_version_triplet_t
{
    uint32_t major;
    uint32_t minor;
    uint32_t patch;
} rocprofiler_version_triplet_t;

typedef struct rocprofiler_context_id_t
{
    uint64_t handle;
} rocprofiler_context_id_t;

typedef struct rocprofiler_buffer_id_t
{
    uint64_t handle;
} rocprofiler_buffer_id_t;

typedef struct rocprofiler_agent_id_t
{
    uint64_t handle;
} rocprofiler_agent_id_t;

typedef struct rocprofiler_queue_id_t
{
    uint64_t handle;
} rocprofiler_queue_id_t;

typedef struct rocprofiler_stream_id_t
{
    uint64_t handle;
} rocprofiler_stream_id_t;

typedef struct rocprofiler_counter_id_t
{
    uint64_t handle;
} rocprofiler_counter_id_t;

typedef struct rocprofiler_counter_config_id_t
{
    uint64_t handle;
} rocprofiler_counter_config_id_t;

typedef struct rocprofiler_dim3_t
{
    uint32_t x;
    uint32_t y;
    uint32_t z;
} rocprofiler_dim3_t;

// Ids of a traced call.
typedef struct rocprofiler_correlation_id_t
{
    uint64_t                internal;  // unique in the process, 0 = none
    rocprofiler_user_data_t external;  // chosen by the tool
    uint64_t                ancestor;  // internal id of the enclosing call, 0 = none
} rocprofiler_correlation_id_t;

// Ids of the call that started an asynchronous operation.
typedef struct rocprofiler_async_correlation_id_t
{
    uint64_t                internal;
    rocprofiler_user_data_t external;
} rocprofiler_async_correlation_id_t;

#define ROCPROFILER_CORRELATION_ID_INTERNAL_NONE ROCPROFILER_UINT64_C(0)
#define ROCPROFILER_CORRELATION_ID_ANCESTOR_NONE ROCPROFILER_UINT64_C(0)

// What a callback gets, by value. The payload's type follows from kind and operation.
typedef struct rocprofiler_callback_tracing_record_t
{
    rocprofiler_context_id_t            context_id;
    rocprofiler_thread_id_t             thread_id;
    rocprofiler_correlation_id_t        correlation_id;
    rocprofiler_callback_tracing_kind_t kind;
    rocprofiler_tracing_operation_t     operation;
    rocprofiler_callback_phase_t        phase;
    void*                               payload;  // valid during the callback
} rocprofiler_callback_tracing_record_t;

// A record in a buffer. The payload's type follows from category and kind.
typedef struct rocprofiler_record_header_t
{
    union
    {
        __extension__ struct
        {
            uint32_t category;  // rocprofiler_buffer_category_t
            uint32_t kind;
        };
        uint64_t hash;  // rocprofiler_record_header_compute_hash(category, kind)
    };
    void* payload;  // valid during the buffer's callback
} rocprofiler_record_header_t;

// Returns the hash of a category and a kind.
static inline uint64_t
rocprofiler_record_header_compute_hash(uint32_t category, uint32_t kind)
{
    return (uint64_t) category | ((uint64_t) kind << 32);
}

typedef struct rocprofiler_kernel_dispatch_info_t
{
    uint64_t                  size;  // without the padding at the end: 72
    rocprofiler_agent_id_t    agent_id;
    rocprofiler_queue_id_t    queue_id;
    rocprofiler_kernel_id_t   kernel_id;             // 0 = unknown
    rocprofiler_dispatch_id_t dispatch_id;           // from 1
    uint32_t                  private_segment_size;  // bytes per work item
    uint32_t                  group_segment_size;    // bytes per work group
    rocprofiler_dim3_t        workgroup_size;
    rocprofiler_dim3_t        grid_size;
    uint8_t                   reserved_padding[56];
} rocprofiler_kernel_dispatch_info_t;

typedef struct rocprofiler_counter_record_dimension_info_t
{
    const char*                        name;
    size_t                             instance_size;
    rocprofiler_counter_dimension_id_t id;
} rocprofiler_counter_record_dimension_info_t;

// Buffer record of the category COUNTERS, kind VALUE.
typedef struct rocprofiler_counter_record_t
{
    rocprofiler_counter_instance_id_t id;
    double                            counter_value;
    rocprofiler_dispatch_id_t         dispatch_id;
    rocprofiler_user_data_t           user_data;
    rocprofiler_agent_id_t            agent_id;
} rocprofiler_counter_record_t;

// Names from before 1.0.0.
typedef rocprofiler_counter_record_dimension_info_t rocprofiler_record_dimension_info_t;
typedef rocprofiler_counter_record_t                rocprofiler_record_counter_t;
#if ROCPROFILER_SDK_BETA_COMPAT > 0
typedef rocprofiler_counter_config_id_t rocprofiler_profile_config_id_t;
#endif

ROCPROFILER_EXTERN_C_FINI

#endif
