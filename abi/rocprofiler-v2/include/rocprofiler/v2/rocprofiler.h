// rocprofiler v2: sessions with filters and buffers, and the records they deliver.
//
// Order of the calls: rocprofiler_initialize, rocprofiler_create_session,
// rocprofiler_create_filter, rocprofiler_create_buffer, rocprofiler_set_filter_buffer,
// rocprofiler_start_session, ..., rocprofiler_terminate_session, rocprofiler_flush_data,
// rocprofiler_destroy_session, rocprofiler_finalize. The id of a session, filter or buffer is
// never 0.
//
// No function of this library is for signal handlers. Those of a ROCTx runtime are: their records
// never wait for a call that the handler interrupts.
#ifndef ROCPROFILER_V2_ROCPROFILER_H
#define ROCPROFILER_V2_ROCPROFILER_H

#include <stddef.h>
#include <stdint.h>

#ifndef ROCPROFILER_CALL
#define ROCPROFILER_CALL
#endif
#ifndef ROCPROFILER_EXPORT_DECORATOR
#define ROCPROFILER_EXPORT_DECORATOR __attribute__((visibility("default")))
#endif
#ifndef ROCPROFILER_IMPORT_DECORATOR
#define ROCPROFILER_IMPORT_DECORATOR
#endif
#ifndef ROCPROFILER_EXPORT
#define ROCPROFILER_EXPORT ROCPROFILER_EXPORT_DECORATOR ROCPROFILER_CALL
#endif
#ifndef ROCPROFILER_IMPORT
#define ROCPROFILER_IMPORT ROCPROFILER_IMPORT_DECORATOR ROCPROFILER_CALL
#endif
#ifndef ROCPROFILER_API
#define ROCPROFILER_API ROCPROFILER_EXPORT
#endif

// Follows a declaration: the function has the symbol version ROCPROFILER_9.0.
#define ROCPROFILER_VERSION_9_0

#define ROCPROFILER_VERSION_MAJOR 9
#define ROCPROFILER_VERSION_MINOR 0

#ifdef __cplusplus
extern "C" {
#endif

// Result of a call.
typedef enum rocprofiler_status_t
{
    ROCPROFILER_STATUS_SUCCESS                                   = 0,
    ROCPROFILER_STATUS_ERROR                                     = -1,
    ROCPROFILER_STATUS_ERROR_ALREADY_INITIALIZED                 = -2,
    ROCPROFILER_STATUS_ERROR_NOT_INITIALIZED                     = -3,
    ROCPROFILER_STATUS_ERROR_SESSION_MISSING_BUFFER              = -4,
    ROCPROFILER_STATUS_ERROR_TIMESTAMP_NOT_APPLICABLE            = -5,
    ROCPROFILER_STATUS_ERROR_AGENT_NOT_FOUND                     = -6,
    ROCPROFILER_STATUS_ERROR_AGENT_INFORMATION_MISSING           = -7,
    ROCPROFILER_STATUS_ERROR_QUEUE_NOT_FOUND                     = -8,
    ROCPROFILER_STATUS_ERROR_QUEUE_INFORMATION_MISSING           = -9,
    ROCPROFILER_STATUS_ERROR_KERNEL_NOT_FOUND                    = -10,
    ROCPROFILER_STATUS_ERROR_KERNEL_INFORMATION_MISSING          = -11,
    ROCPROFILER_STATUS_ERROR_COUNTER_NOT_FOUND                   = -12,
    ROCPROFILER_STATUS_ERROR_COUNTER_INFORMATION_MISSING         = -13,
    ROCPROFILER_STATUS_ERROR_TRACER_API_DATA_NOT_FOUND           = -14,
    ROCPROFILER_STATUS_ERROR_TRACER_API_DATA_INFORMATION_MISSING = -15,
    ROCPROFILER_STATUS_ERROR_INCORRECT_DOMAIN                    = -16,
    ROCPROFILER_STATUS_ERROR_SESSION_NOT_FOUND                   = -17,
    ROCPROFILER_STATUS_ERROR_CORRUPTED_SESSION_BUFFER            = -18,
    ROCPROFILER_STATUS_ERROR_RECORD_CORRUPTED                    = -19,
    ROCPROFILER_STATUS_ERROR_INCORRECT_REPLAY_MODE               = -20,
    ROCPROFILER_STATUS_ERROR_SESSION_MISSING_FILTER              = -21,
    ROCPROFILER_STATUS_ERROR_INCORRECT_SIZE                      = -22,
    ROCPROFILER_STATUS_ERROR_INCORRECT_FLUSH_INTERVAL            = -23,
    ROCPROFILER_STATUS_ERROR_SESSION_FILTER_DATA_MISMATCH        = -24,
    ROCPROFILER_STATUS_ERROR_FILTER_DATA_CORRUPTED               = -25,
    ROCPROFILER_STATUS_ERROR_CORRUPTED_LABEL_DATA                = -26,
    ROCPROFILER_STATUS_ERROR_RANGE_STACK_IS_EMPTY                = -27,
    ROCPROFILER_STATUS_ERROR_PASS_NOT_STARTED                    = -28,
    ROCPROFILER_STATUS_ERROR_HAS_ACTIVE_SESSION                  = -29,
    ROCPROFILER_STATUS_ERROR_SESSION_NOT_ACTIVE                  = -30,
    ROCPROFILER_STATUS_ERROR_FILTER_NOT_FOUND                    = -31,
    ROCPROFILER_STATUS_ERROR_BUFFER_NOT_FOUND                    = -32,
    ROCPROFILER_STATUS_ERROR_FILTER_NOT_SUPPORTED                = -33,
    ROCPROFILER_STATUS_ERROR_INVALID_ARGUMENTS                   = -34,
    ROCPROFILER_STATUS_ERROR_INVALID_OPERATION_ID                = -35,
    ROCPROFILER_STATUS_ERROR_INVALID_DOMAIN_ID                   = -36,
    ROCPROFILER_STATUS_ERROR_NOT_IMPLEMENTED                     = -37,
    ROCPROFILER_STATUS_ERROR_MISMATCHED_EXTERNAL_CORRELATION_ID  = -38,
} rocprofiler_status_t;

// Identifiers. They are passed by value.

typedef struct rocprofiler_session_id_t
{
    uint64_t handle;
} rocprofiler_session_id_t;

typedef struct rocprofiler_filter_id_t
{
    uint64_t value;
} rocprofiler_filter_id_t;

typedef struct rocprofiler_buffer_id_t
{
    uint64_t value;
} rocprofiler_buffer_id_t;

typedef struct rocprofiler_record_id_t
{
    uint64_t handle;
} rocprofiler_record_id_t;

typedef struct rocprofiler_agent_id_t
{
    uint64_t handle;
} rocprofiler_agent_id_t;

typedef struct rocprofiler_queue_id_t
{
    uint64_t handle;
} rocprofiler_queue_id_t;

typedef struct rocprofiler_kernel_id_t
{
    uint64_t handle;
} rocprofiler_kernel_id_t;

typedef struct rocprofiler_counter_id_t
{
    uint64_t handle;
} rocprofiler_counter_id_t;

typedef struct rocprofiler_thread_id_t
{
    uint32_t value;
} rocprofiler_thread_id_t;

typedef struct rocprofiler_event_id_t
{
    uint32_t value;
} rocprofiler_event_id_t;

typedef struct rocprofiler_queue_index_t
{
    uint64_t value;
} rocprofiler_queue_index_t;

typedef struct rocprofiler_correlation_id_t
{
    uint64_t value;
} rocprofiler_correlation_id_t;

typedef struct rocprofiler_kernel_dispatch_id_t
{
    uint64_t value;
} rocprofiler_kernel_dispatch_id_t;

typedef struct rocprofiler_tracer_operation_id_t
{
    uint32_t id;
} rocprofiler_tracer_operation_id_t;

typedef struct rocprofiler_tracer_activity_correlation_id_t
{
    uint64_t value;
} rocprofiler_tracer_activity_correlation_id_t;

typedef struct rocprofiler_tracer_external_id_t
{
    uint64_t id;
} rocprofiler_tracer_external_id_t;

// Time in nanoseconds.
typedef struct rocprofiler_timestamp_t
{
    uint64_t value;
} rocprofiler_timestamp_t;

typedef struct rocprofiler_record_header_timestamp_t
{
    rocprofiler_timestamp_t begin;
    rocprofiler_timestamp_t end;
} rocprofiler_record_header_timestamp_t;

// Kinds of records. The kind is the record's type: see rocprofiler_record_header_t.
typedef enum rocprofiler_record_kind_t
{
    ROCPROFILER_PROFILER_RECORD         = 0,  // rocprofiler_record_profiler_t
    ROCPROFILER_TRACER_RECORD           = 1,  // rocprofiler_record_tracer_t
    ROCPROFILER_ATT_TRACER_RECORD       = 2,  // rocprofiler_record_att_tracer_t
    ROCPROFILER_PC_SAMPLING_RECORD      = 3,  // rocprofiler_record_pc_sample_t
    ROCPROFILER_SPM_RECORD              = 4,  // rocprofiler_record_spm_t
    ROCPROFILER_COUNTERS_SAMPLER_RECORD = 5,  // rocprofiler_record_counters_sampler_t
} rocprofiler_record_kind_t;

// First field of every record. Ids are unique in the process, across all kinds.
typedef struct rocprofiler_record_header_t
{
    rocprofiler_record_kind_t kind;
    rocprofiler_record_id_t   id;
} rocprofiler_record_header_t;

// Library.

ROCPROFILER_API uint32_t
rocprofiler_version_major(void);
ROCPROFILER_API uint32_t
rocprofiler_version_minor(void);

// Returns a text for a status, never null.
ROCPROFILER_API const char*
rocprofiler_error_str(rocprofiler_status_t status) ROCPROFILER_VERSION_9_0;

// Until this call, and after rocprofiler_finalize, the calls below return
// ROCPROFILER_STATUS_ERROR_NOT_INITIALIZED unless their comment says otherwise.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_initialize(void) ROCPROFILER_VERSION_9_0;

// Sessions survive. The library can be initialized again.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_finalize(void) ROCPROFILER_VERSION_9_0;

// Sets *timestamp to the clock of the records.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_get_timestamp(rocprofiler_timestamp_t* timestamp) ROCPROFILER_VERSION_9_0;

// Queries. A size counts the bytes of the text.

typedef enum rocprofiler_agent_type_t
{
    ROCPROFILER_CPU_AGENT = 0,
    ROCPROFILER_GPU_AGENT = 1,
} rocprofiler_agent_type_t;

typedef enum rocprofiler_agent_info_kind_t
{
    ROCPROFILER_AGENT_NAME = 0,
    ROCPROFILER_AGENT_TYPE = 1,
} rocprofiler_agent_info_kind_t;

ROCPROFILER_API rocprofiler_status_t
rocprofiler_query_agent_info_size(rocprofiler_agent_info_kind_t kind,
                                  rocprofiler_agent_id_t        agent_id,
                                  size_t*                       data_size) ROCPROFILER_VERSION_9_0;

ROCPROFILER_API rocprofiler_status_t
rocprofiler_query_agent_info(rocprofiler_agent_info_kind_t kind,
                             rocprofiler_agent_id_t        agent_id,
                             const char**                  data) ROCPROFILER_VERSION_9_0;

typedef enum rocprofiler_queue_info_kind_t
{
    ROCPROFILER_QUEUE_SIZE = 0,
} rocprofiler_queue_info_kind_t;

ROCPROFILER_API rocprofiler_status_t
rocprofiler_query_queue_info_size(rocprofiler_queue_info_kind_t kind,
                                  rocprofiler_queue_id_t        queue_id,
                                  size_t*                       data_size) ROCPROFILER_VERSION_9_0;

ROCPROFILER_API rocprofiler_status_t
rocprofiler_query_queue_info(rocprofiler_queue_info_kind_t kind,
                             rocprofiler_queue_id_t        queue_id,
                             const char**                  data) ROCPROFILER_VERSION_9_0;

typedef enum rocprofiler_kernel_info_kind_t
{
    ROCPROFILER_KERNEL_NAME = 0,
} rocprofiler_kernel_info_kind_t;

ROCPROFILER_API rocprofiler_status_t
rocprofiler_query_kernel_info_size(rocprofiler_kernel_info_kind_t kind,
                                   rocprofiler_kernel_id_t        kernel_id,
                                   size_t* data_size) ROCPROFILER_VERSION_9_0;

ROCPROFILER_API rocprofiler_status_t
rocprofiler_query_kernel_info(rocprofiler_kernel_info_kind_t kind,
                              rocprofiler_kernel_id_t        kernel_id,
                              const char**                   data) ROCPROFILER_VERSION_9_0;

// Hardware counters.

typedef struct rocprofiler_counter_info_t
{
    const char* name;
    const char* description;
    const char* expression;
    uint32_t    instances_count;
    const char* block_name;
    uint32_t    block_counters;
} rocprofiler_counter_info_t;

// The result is ignored.
typedef int (*rocprofiler_counters_info_callback_t)(rocprofiler_counter_info_t counter,
                                                    const char*                gpu_name,
                                                    uint32_t gpu_index) ROCPROFILER_VERSION_9_0;

// Calls back once per counter of each GPU.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_iterate_counters(rocprofiler_counters_info_callback_t counters_info_callback)
    ROCPROFILER_VERSION_9_0;

typedef enum rocprofiler_counter_info_kind_t
{
    ROCPROFILER_COUNTER_NAME            = 0,
    ROCPROFILER_COUNTER_BLOCK_ID        = 2,
    ROCPROFILER_COUNTER_HIERARCHY_LEVEL = 3,
} rocprofiler_counter_info_kind_t;

ROCPROFILER_API rocprofiler_status_t
rocprofiler_query_counter_info_size(rocprofiler_session_id_t        session_id,
                                    rocprofiler_counter_info_kind_t counter_info_type,
                                    rocprofiler_counter_id_t        counter_id,
                                    size_t* data_size) ROCPROFILER_VERSION_9_0;

ROCPROFILER_API rocprofiler_status_t
rocprofiler_query_counter_info(rocprofiler_session_id_t        session_id,
                               rocprofiler_counter_info_kind_t kind,
                               rocprofiler_counter_id_t        counter_id,
                               const char**                    data) ROCPROFILER_VERSION_9_0;

// Record of a kernel dispatch, with counters if the filter collects them.

typedef struct rocprofiler_record_counter_value_t
{
    double value;
} rocprofiler_record_counter_value_t;

typedef struct rocprofiler_record_counter_instance_t
{
    rocprofiler_counter_id_t           counter_handler;
    rocprofiler_record_counter_value_t value;
} rocprofiler_record_counter_instance_t;

typedef struct rocprofiler_record_counters_instances_count_t
{
    uint64_t value;
} rocprofiler_record_counters_instances_count_t;

typedef struct rocprofiler_kernel_properties_t
{
    uint64_t grid_size;
    uint64_t workgroup_size;
    uint64_t lds_size;
    uint64_t scratch_size;
    uint64_t arch_vgpr_count;
    uint64_t accum_vgpr_count;
    uint64_t sgpr_count;
    uint64_t wave_size;
    uint64_t signal_handle;
} rocprofiler_kernel_properties_t;

typedef struct rocprofiler_record_profiler_t
{
    rocprofiler_record_header_t                   header;
    rocprofiler_kernel_id_t                       kernel_id;
    rocprofiler_agent_id_t                        gpu_id;
    rocprofiler_queue_id_t                        queue_id;
    rocprofiler_record_header_timestamp_t         timestamps;
    const rocprofiler_record_counter_instance_t*  counters;  // valid during the buffer's callback
    rocprofiler_record_counters_instances_count_t counters_count;
    uint32_t                                      xcc_index;
    rocprofiler_kernel_properties_t               kernel_properties;
    rocprofiler_thread_id_t                       thread_id;
    rocprofiler_queue_index_t                     queue_idx;
    rocprofiler_correlation_id_t                  correlation_id;
} rocprofiler_record_profiler_t;

// Record of streamed counters.

typedef struct rocprofiler_record_spm_counters_instances_count_t
{
    uint16_t value;
} rocprofiler_record_spm_counters_instances_count_t;

typedef struct rocprofiler_record_se_spm_data_t
{
    rocprofiler_record_spm_counters_instances_count_t counters_data[32];
} rocprofiler_record_se_spm_data_t;

typedef struct rocprofiler_record_spm_t
{
    rocprofiler_record_header_t           header;
    rocprofiler_record_header_timestamp_t timestamps;
    rocprofiler_record_se_spm_data_t      shader_engine_data[4];
} rocprofiler_record_spm_t;

// Record of a thread trace, with the code objects that were loaded.

typedef struct rocprofiler_record_se_att_data_t
{
    void*    buffer_ptr;
    uint32_t buffer_size;
} rocprofiler_record_se_att_data_t;

typedef struct rocprofiler_intercepted_codeobj_t
{
    const char*             filepath;
    uint64_t                base_address;
    uint64_t                mem_size;
    const char*             data;
    uint64_t                data_size;
    rocprofiler_timestamp_t clock_start;
    rocprofiler_timestamp_t clock_end;
    uint32_t                att_marker_id;
} rocprofiler_intercepted_codeobj_t;

typedef enum rocprofiler_codeobj_capture_mode_t
{
    ROCPROFILER_CAPTURE_SYMBOLS_ONLY         = 0,
    ROCPROFILER_CAPTURE_COPY_MEMORY          = 1,
    ROCPROFILER_CAPTURE_COPY_FILE_AND_MEMORY = 2,
} rocprofiler_codeobj_capture_mode_t;

typedef struct rocprofiler_codeobj_symbols_t
{
    const rocprofiler_intercepted_codeobj_t* symbols;
    uint64_t                                 count;
    uint64_t                                 userdata;
} rocprofiler_codeobj_symbols_t;

typedef struct rocprofiler_record_att_tracer_t
{
    rocprofiler_record_header_t       header;
    rocprofiler_kernel_id_t           kernel_id;
    rocprofiler_agent_id_t            gpu_id;
    rocprofiler_queue_id_t            queue_id;
    rocprofiler_kernel_properties_t   kernel_properties;
    rocprofiler_thread_id_t           thread_id;
    rocprofiler_queue_index_t         queue_idx;
    uint64_t                          writer_id;
    rocprofiler_record_se_att_data_t* shader_engine_data;
    uint64_t                          shader_engine_data_count;
    rocprofiler_codeobj_symbols_t     intercept_list;
} rocprofiler_record_att_tracer_t;

// Record of a traced call or an asynchronous operation.

typedef enum rocprofiler_tracer_activity_domain_t
{
    ACTIVITY_DOMAIN_HSA_API = 0,
    ACTIVITY_DOMAIN_HSA_OPS = 1,
    ACTIVITY_DOMAIN_HIP_OPS = 2,
    ACTIVITY_DOMAIN_HIP_API = 3,
    ACTIVITY_DOMAIN_KFD_API = 4,
    ACTIVITY_DOMAIN_EXT_API = 5,  // external id of the record that follows
    ACTIVITY_DOMAIN_ROCTX   = 6,
    ACTIVITY_DOMAIN_HSA_EVT = 7,
    ACTIVITY_DOMAIN_NUMBER  = 8,
} rocprofiler_tracer_activity_domain_t;

struct hip_api_data_s;
struct hsa_api_data_s;
struct roctx_api_data_s;

// Arguments of a traced call. The domain says which member is set.
typedef struct rocprofiler_tracer_api_data_t
{
    union
    {
        const struct hip_api_data_s*   hip;
        const struct hsa_api_data_s*   hsa;
        const struct roctx_api_data_s* roctx;
    };
} rocprofiler_tracer_api_data_t;

// Sets *name, to null if the operation has none. Needs no initialization.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_query_tracer_operation_name(rocprofiler_tracer_activity_domain_t domain,
                                        rocprofiler_tracer_operation_id_t    operation_id,
                                        const char**                         name);

// Finds an operation by its name.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_tracer_operation_id(rocprofiler_tracer_activity_domain_t domain,
                                const char*                          name,
                                rocprofiler_tracer_operation_id_t*   operation_id);

typedef enum rocprofiler_api_tracing_phase_t
{
    ROCPROFILER_PHASE_NONE  = 0,
    ROCPROFILER_PHASE_ENTER = 1,
    ROCPROFILER_PHASE_EXIT  = 2,
} rocprofiler_api_tracing_phase_t;

// A buffered record of the domain ROCTX stands for one call: the time is in begin, end is 0.
typedef struct rocprofiler_record_tracer_t
{
    rocprofiler_record_header_t                  header;
    rocprofiler_tracer_external_id_t             external_id;  // ROCTX: id of the range
    rocprofiler_tracer_activity_domain_t         domain;
    rocprofiler_tracer_operation_id_t            operation_id;
    rocprofiler_tracer_api_data_t                api_data;  // null in a buffered record
    rocprofiler_tracer_activity_correlation_id_t correlation_id;
    rocprofiler_record_header_timestamp_t        timestamps;
    rocprofiler_agent_id_t                       agent_id;
    rocprofiler_queue_id_t                       queue_id;
    rocprofiler_thread_id_t                      thread_id;
    rocprofiler_api_tracing_phase_t              phase;
    const char*                                  name;  // kernel name or ROCTX message, or null
} rocprofiler_record_tracer_t;

// Record of a sampled program counter.

typedef struct rocprofiler_pc_sample_t
{
    rocprofiler_kernel_dispatch_id_t dispatch_id;
    union
    {
        rocprofiler_timestamp_t timestamp;
        uint64_t                cycle;
    };
    uint64_t               pc;
    uint32_t               se;
    rocprofiler_agent_id_t gpu_id;
} rocprofiler_pc_sample_t;

typedef struct rocprofiler_record_pc_sample_t
{
    rocprofiler_record_header_t header;
    rocprofiler_pc_sample_t     pc_sample;
} rocprofiler_record_pc_sample_t;

// Record of periodically read counters.

typedef enum rocprofiler_counters_sampler_counter_type_t
{
    ROCPROFILER_COUNTERS_SAMPLER_PCIE_COUNTERS = 0,
    ROCPROFILER_COUNTERS_SAMPLER_XGMI_COUNTERS = 1,
} rocprofiler_counters_sampler_counter_type_t;

typedef struct rocprofiler_counters_sampler_counter_output_t
{
    rocprofiler_counters_sampler_counter_type_t type;
    rocprofiler_record_counter_value_t          value;
} rocprofiler_counters_sampler_counter_output_t;

typedef struct rocprofiler_record_counters_sampler_t
{
    rocprofiler_record_header_t                    header;
    rocprofiler_agent_id_t                         gpu_id;
    rocprofiler_counters_sampler_counter_output_t* counters;
    uint32_t                                       num_counters;
} rocprofiler_record_counters_sampler_t;

// Sessions. One can be active at a time.

typedef enum rocprofiler_replay_mode_t
{
    ROCPROFILER_NONE_REPLAY_MODE = -1,
} rocprofiler_replay_mode_t;

ROCPROFILER_API rocprofiler_status_t
rocprofiler_create_session(rocprofiler_replay_mode_t replay_mode,
                           rocprofiler_session_id_t* session_id) ROCPROFILER_VERSION_9_0;

ROCPROFILER_API rocprofiler_status_t
rocprofiler_destroy_session(rocprofiler_session_id_t session_id) ROCPROFILER_VERSION_9_0;

// Every filter of the session needs a buffer.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_start_session(rocprofiler_session_id_t session_id) ROCPROFILER_VERSION_9_0;

// Stops recording. Does not flush.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_terminate_session(rocprofiler_session_id_t session_id) ROCPROFILER_VERSION_9_0;

// Filters: what a session records.

typedef enum rocprofiler_filter_kind_t
{
    ROCPROFILER_DISPATCH_TIMESTAMPS_COLLECTION = 1,
    ROCPROFILER_COUNTERS_COLLECTION            = 2,
    ROCPROFILER_PC_SAMPLING_COLLECTION         = 3,
    ROCPROFILER_ATT_TRACE_COLLECTION           = 4,
    ROCPROFILER_SPM_COLLECTION                 = 5,
    ROCPROFILER_API_TRACE                      = 6,
    ROCPROFILER_COUNTERS_SAMPLER               = 7,
} rocprofiler_filter_kind_t;

// What a property restricts a filter to.
typedef enum rocprofiler_filter_property_kind_t
{
    ROCPROFILER_FILTER_HSA_TRACER_API_FUNCTIONS = 1,
    ROCPROFILER_FILTER_HIP_TRACER_API_FUNCTIONS = 2,
    ROCPROFILER_FILTER_GPU_NAME                 = 3,
    ROCPROFILER_FILTER_RANGE                    = 4,
    ROCPROFILER_FILTER_KERNEL_NAMES             = 5,
    ROCPROFILER_FILTER_DISPATCH_IDS             = 6,
} rocprofiler_filter_property_kind_t;

typedef const char* rocprofiler_hip_function_name_t;
typedef const char* rocprofiler_hsa_function_name_t;

struct rocprofiler_filter_dispatch_ids_t
{
    uint64_t start;
    uint64_t end;
};

// A zeroed property restricts nothing.
typedef struct rocprofiler_filter_property_t
{
    rocprofiler_filter_property_kind_t kind;
    union
    {
        const char**                              name_regex;
        rocprofiler_hip_function_name_t*          hip_functions_names;
        rocprofiler_hsa_function_name_t*          hsa_functions_names;
        uint32_t                                  range[2];
        struct rocprofiler_filter_dispatch_ids_t* dispatch_ids;
    };
    uint64_t data_count;
} rocprofiler_filter_property_t;

// The values 2, 3, 4 and 6 are obsolete.
typedef enum rocprofiler_att_parameter_name_t
{
    ROCPROFILER_ATT_COMPUTE_UNIT     = 0,
    ROCPROFILER_ATT_VMID_MASK        = 1,
    ROCPROFILER_ATT_MASK             = 2,
    ROCPROFILER_ATT_TOKEN_MASK       = 3,
    ROCPROFILER_ATT_TOKEN_MASK2      = 4,
    ROCPROFILER_ATT_SE_MASK          = 5,
    ROCPROFILER_ATT_SAMPLE_RATE      = 6,
    ROCPROFILER_ATT_SIMD_SELECT      = 8,
    ROCPROFILER_ATT_OCCUPANCY        = 9,
    ROCPROFILER_ATT_BUFFER_SIZE      = 10,
    ROCPROFILER_ATT_CAPTURE_MODE     = 11,
    ROCPROFILER_ATT_PERF_MASK        = 240,
    ROCPROFILER_ATT_PERF_CTRL        = 241,
    ROCPROFILER_ATT_PERFCOUNTER      = 242,
    ROCPROFILER_ATT_PERFCOUNTER_NAME = 243,
    ROCPROFILER_ATT_MAXVALUE         = 244,
} rocprofiler_att_parameter_name_t;

typedef struct rocprofiler_att_parameter_t
{
    rocprofiler_att_parameter_name_t parameter_name;
    union
    {
        uint32_t    value;
        const char* counter_name;
    };
} rocprofiler_att_parameter_t;

typedef struct rocprofiler_spm_parameter_t
{
    const char**            counters_names;
    int                     counters_count;
    uint32_t                sampling_rate;
    rocprofiler_agent_id_t* gpu_agent_id;
} rocprofiler_spm_parameter_t;

typedef struct rocprofiler_counters_sampler_counter_input_t
{
    char*                                       name;
    rocprofiler_counters_sampler_counter_type_t type;
} rocprofiler_counters_sampler_counter_input_t;

// Times in milliseconds.
typedef struct rocprofiler_counters_sampler_parameters_t
{
    rocprofiler_counters_sampler_counter_input_t* counters;
    int                                           counters_num;
    uint32_t                                      sampling_rate;
    uint32_t                                      sampling_duration;
    uint32_t                                      initial_delay;
    int                                           gpu_agent_index;
} rocprofiler_counters_sampler_parameters_t;

// The filter kind says which member counts.
typedef union rocprofiler_filter_data_t
{
    rocprofiler_tracer_activity_domain_t*     trace_apis;
    const char**                              counters_names;
    rocprofiler_att_parameter_t*              att_parameters;
    rocprofiler_spm_parameter_t*              spm_parameters;
    rocprofiler_counters_sampler_parameters_t counters_sampler_parameters;
} rocprofiler_filter_data_t;

// data_count: domains, counters or parameters in data.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_create_filter(rocprofiler_session_id_t      session_id,
                          rocprofiler_filter_kind_t     filter_kind,
                          rocprofiler_filter_data_t     data,
                          uint64_t                      data_count,
                          rocprofiler_filter_id_t*      filter_id,
                          rocprofiler_filter_property_t property) ROCPROFILER_VERSION_9_0;

ROCPROFILER_API rocprofiler_status_t
rocprofiler_set_filter_buffer(rocprofiler_session_id_t session_id,
                              rocprofiler_filter_id_t  filter_id,
                              rocprofiler_buffer_id_t  buffer_id) ROCPROFILER_VERSION_9_0;

// Receives a record on the thread of the traced call. Its pointers are valid during the callback.
typedef void (*rocprofiler_sync_callback_t)(rocprofiler_record_tracer_t record,
                                            rocprofiler_session_id_t    session_id);

// For filters of the kind API_TRACE. The callback replaces the buffer for calls; asynchronous
// operations still go to the buffer.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_set_api_trace_sync_callback(rocprofiler_session_id_t    session_id,
                                        rocprofiler_filter_id_t     filter_id,
                                        rocprofiler_sync_callback_t callback)
    ROCPROFILER_VERSION_9_0;

ROCPROFILER_API rocprofiler_status_t
rocprofiler_destroy_filter(rocprofiler_session_id_t session_id,
                           rocprofiler_filter_id_t  filter_id) ROCPROFILER_VERSION_9_0;

// Buffers: they collect records and hand them to a callback in batches.

typedef enum rocprofiler_buffer_property_kind_t
{
    ROCPROFILER_BUFFER_PROPERTY_KIND_INTERVAL_FLUSH = 0,  // value: milliseconds
} rocprofiler_buffer_property_kind_t;

typedef struct rocprofiler_buffer_property_t
{
    rocprofiler_buffer_property_kind_t kind;
    uint64_t                           value;
} rocprofiler_buffer_property_t;

// Receives the records from begin up to end, which is past the last one. They are valid during
// the callback. rocprofiler_next_record steps from one to the next.
typedef void (*rocprofiler_buffer_callback_t)(const rocprofiler_record_header_t* begin,
                                              const rocprofiler_record_header_t* end,
                                              rocprofiler_session_id_t           session_id,
                                              rocprofiler_buffer_id_t            buffer_id);

ROCPROFILER_API rocprofiler_status_t
rocprofiler_create_buffer(rocprofiler_session_id_t      session_id,
                          rocprofiler_buffer_callback_t buffer_callback,
                          size_t                        buffer_size,
                          rocprofiler_buffer_id_t*      buffer_id) ROCPROFILER_VERSION_9_0;

ROCPROFILER_API rocprofiler_status_t
rocprofiler_set_buffer_properties(rocprofiler_session_id_t       session_id,
                                  rocprofiler_buffer_id_t        buffer_id,
                                  rocprofiler_buffer_property_t* buffer_properties,
                                  uint32_t buffer_properties_count) ROCPROFILER_VERSION_9_0;

// Flushes the buffer and destroys it.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_destroy_buffer(rocprofiler_session_id_t session_id,
                           rocprofiler_buffer_id_t  buffer_id) ROCPROFILER_VERSION_9_0;

// Hands the records to the callback and waits for it. An empty buffer causes no callback.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_flush_data(rocprofiler_session_id_t session_id,
                       rocprofiler_buffer_id_t  buffer_id) ROCPROFILER_VERSION_9_0;

// Sets *next to the address after the record.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_next_record(const rocprofiler_record_header_t*  record,
                        const rocprofiler_record_header_t** next,
                        rocprofiler_session_id_t            session_id,
                        rocprofiler_buffer_id_t             buffer_id) ROCPROFILER_VERSION_9_0;

// Creates a session with one filter and one buffer. callback counts for API_TRACE only and may be
// null.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_create_ready_session(rocprofiler_replay_mode_t     replay_mode,
                                 rocprofiler_filter_kind_t     filter_kind,
                                 rocprofiler_filter_data_t     data,
                                 uint64_t                      data_count,
                                 size_t                        buffer_size,
                                 rocprofiler_buffer_callback_t buffer_callback,
                                 rocprofiler_session_id_t*     session_id,
                                 rocprofiler_filter_property_t property,
                                 rocprofiler_sync_callback_t   callback) ROCPROFILER_VERSION_9_0;

// Counters of a whole device. Not implemented.

typedef struct rocprofiler_counter_value_t
{
    double value;
} rocprofiler_counter_value_t;

typedef struct rocprofiler_device_profile_metric_t
{
    char                        metric_name[64];
    rocprofiler_counter_value_t value;
} rocprofiler_device_profile_metric_t;

ROCPROFILER_API rocprofiler_status_t
rocprofiler_device_profiling_session_create(const char**              counter_names,
                                            uint64_t                  num_counters,
                                            rocprofiler_session_id_t* session_id,
                                            int                       cpu_index,
                                            int gpu_index) ROCPROFILER_VERSION_9_0;

ROCPROFILER_API rocprofiler_status_t
rocprofiler_device_profiling_session_start(rocprofiler_session_id_t session_id)
    ROCPROFILER_VERSION_9_0;

// data: one entry per counter.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_device_profiling_session_poll(rocprofiler_session_id_t             session_id,
                                          rocprofiler_device_profile_metric_t* data)
    ROCPROFILER_VERSION_9_0;

ROCPROFILER_API rocprofiler_status_t
rocprofiler_device_profiling_session_stop(rocprofiler_session_id_t session_id)
    ROCPROFILER_VERSION_9_0;

ROCPROFILER_API rocprofiler_status_t
rocprofiler_device_profiling_session_destroy(rocprofiler_session_id_t session_id)
    ROCPROFILER_VERSION_9_0;

// Capture of code objects. Not implemented.

ROCPROFILER_API rocprofiler_status_t
rocprofiler_codeobj_capture_create(rocprofiler_record_id_t*           id,
                                   rocprofiler_codeobj_capture_mode_t mode,
                                   uint64_t                           userdata);

ROCPROFILER_API rocprofiler_status_t
rocprofiler_codeobj_capture_get(rocprofiler_record_id_t        id,
                                rocprofiler_codeobj_symbols_t* capture);

ROCPROFILER_API rocprofiler_status_t
rocprofiler_codeobj_capture_free(rocprofiler_record_id_t id);

ROCPROFILER_API rocprofiler_status_t
rocprofiler_codeobj_capture_start(rocprofiler_record_id_t id);

ROCPROFILER_API rocprofiler_status_t
rocprofiler_codeobj_capture_stop(rocprofiler_record_id_t id);

#ifdef __cplusplus
}
#endif

#endif
