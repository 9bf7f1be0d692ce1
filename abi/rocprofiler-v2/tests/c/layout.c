// Asserts the sizes, offsets, numbers and signatures of the headers. Valid as C11 and as C++17.
#include <rocprofiler/v2/rocprofiler.h>
#include <rocprofiler/v2/rocprofiler_plugin.h>
#include <roctracer/roctracer_roctx.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <type_traits>
#define CHECK(condition) static_assert(condition, #condition)
#define SAME(expression, type) CHECK((std::is_same<decltype(expression), type>::value))
#define FIELD_TYPE(owner, field, ...)                                                              \
    CHECK((std::is_same<decltype(owner::field), __VA_ARGS__>::value))
#else
#define CHECK(condition) _Static_assert(condition, #condition)
#define SAME(expression, type) CHECK(_Generic((expression), type : 1, default : 0))
#define FIELD_TYPE(owner, field, ...)                                                              \
    CHECK(_Generic(&((owner*) 0)->field, __VA_ARGS__* : 1, default : 0))
#endif

#define SIZE(type, bytes) CHECK(sizeof(rocprofiler_##type##_t) == (bytes))
#define AT(type, field, offset) CHECK(offsetof(rocprofiler_##type##_t, field) == (offset))
#define TYPE(type, field, ...) FIELD_TYPE(rocprofiler_##type##_t, field, __VA_ARGS__)
#define ARRAY(type, field, element, count)                                                         \
    CHECK(sizeof(((rocprofiler_##type##_t*) 0)->field) == (count) * sizeof(element));              \
    SAME(&((rocprofiler_##type##_t*) 0)->field[0], element*)
#define VALUE(name, number) CHECK((int) (name) == (number))
#define FUNCTION(name, result, parameters)                                                         \
    typedef result(*name##_signature) parameters;                                                  \
    SAME(&name, name##_signature)
#define STATUS_FUNCTION(name, parameters)                                                          \
    FUNCTION(rocprofiler_##name, rocprofiler_status_t, parameters)

#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(...) TEXT_OF(__VA_ARGS__)

// Version.

VALUE(ROCPROFILER_VERSION_MAJOR, 9);
VALUE(ROCPROFILER_VERSION_MINOR, 0);
CHECK(sizeof(TEXT(ROCPROFILER_VERSION_9_0)) == 1);

// Statuses.

SIZE(status, 4);
VALUE(ROCPROFILER_STATUS_SUCCESS, 0);
VALUE(ROCPROFILER_STATUS_ERROR, -1);
VALUE(ROCPROFILER_STATUS_ERROR_ALREADY_INITIALIZED, -2);
VALUE(ROCPROFILER_STATUS_ERROR_NOT_INITIALIZED, -3);
VALUE(ROCPROFILER_STATUS_ERROR_SESSION_MISSING_BUFFER, -4);
VALUE(ROCPROFILER_STATUS_ERROR_TIMESTAMP_NOT_APPLICABLE, -5);
VALUE(ROCPROFILER_STATUS_ERROR_AGENT_NOT_FOUND, -6);
VALUE(ROCPROFILER_STATUS_ERROR_AGENT_INFORMATION_MISSING, -7);
VALUE(ROCPROFILER_STATUS_ERROR_QUEUE_NOT_FOUND, -8);
VALUE(ROCPROFILER_STATUS_ERROR_QUEUE_INFORMATION_MISSING, -9);
VALUE(ROCPROFILER_STATUS_ERROR_KERNEL_NOT_FOUND, -10);
VALUE(ROCPROFILER_STATUS_ERROR_KERNEL_INFORMATION_MISSING, -11);
VALUE(ROCPROFILER_STATUS_ERROR_COUNTER_NOT_FOUND, -12);
VALUE(ROCPROFILER_STATUS_ERROR_COUNTER_INFORMATION_MISSING, -13);
VALUE(ROCPROFILER_STATUS_ERROR_TRACER_API_DATA_NOT_FOUND, -14);
VALUE(ROCPROFILER_STATUS_ERROR_TRACER_API_DATA_INFORMATION_MISSING, -15);
VALUE(ROCPROFILER_STATUS_ERROR_INCORRECT_DOMAIN, -16);
VALUE(ROCPROFILER_STATUS_ERROR_SESSION_NOT_FOUND, -17);
VALUE(ROCPROFILER_STATUS_ERROR_CORRUPTED_SESSION_BUFFER, -18);
VALUE(ROCPROFILER_STATUS_ERROR_RECORD_CORRUPTED, -19);
VALUE(ROCPROFILER_STATUS_ERROR_INCORRECT_REPLAY_MODE, -20);
VALUE(ROCPROFILER_STATUS_ERROR_SESSION_MISSING_FILTER, -21);
VALUE(ROCPROFILER_STATUS_ERROR_INCORRECT_SIZE, -22);
VALUE(ROCPROFILER_STATUS_ERROR_INCORRECT_FLUSH_INTERVAL, -23);
VALUE(ROCPROFILER_STATUS_ERROR_SESSION_FILTER_DATA_MISMATCH, -24);
VALUE(ROCPROFILER_STATUS_ERROR_FILTER_DATA_CORRUPTED, -25);
VALUE(ROCPROFILER_STATUS_ERROR_CORRUPTED_LABEL_DATA, -26);
VALUE(ROCPROFILER_STATUS_ERROR_RANGE_STACK_IS_EMPTY, -27);
VALUE(ROCPROFILER_STATUS_ERROR_PASS_NOT_STARTED, -28);
VALUE(ROCPROFILER_STATUS_ERROR_HAS_ACTIVE_SESSION, -29);
VALUE(ROCPROFILER_STATUS_ERROR_SESSION_NOT_ACTIVE, -30);
VALUE(ROCPROFILER_STATUS_ERROR_FILTER_NOT_FOUND, -31);
VALUE(ROCPROFILER_STATUS_ERROR_BUFFER_NOT_FOUND, -32);
VALUE(ROCPROFILER_STATUS_ERROR_FILTER_NOT_SUPPORTED, -33);
VALUE(ROCPROFILER_STATUS_ERROR_INVALID_ARGUMENTS, -34);
VALUE(ROCPROFILER_STATUS_ERROR_INVALID_OPERATION_ID, -35);
VALUE(ROCPROFILER_STATUS_ERROR_INVALID_DOMAIN_ID, -36);
VALUE(ROCPROFILER_STATUS_ERROR_NOT_IMPLEMENTED, -37);
VALUE(ROCPROFILER_STATUS_ERROR_MISMATCHED_EXTERNAL_CORRELATION_ID, -38);

// Enumerations.

SIZE(record_kind, 4);
VALUE(ROCPROFILER_PROFILER_RECORD, 0);
VALUE(ROCPROFILER_TRACER_RECORD, 1);
VALUE(ROCPROFILER_ATT_TRACER_RECORD, 2);
VALUE(ROCPROFILER_PC_SAMPLING_RECORD, 3);
VALUE(ROCPROFILER_SPM_RECORD, 4);
VALUE(ROCPROFILER_COUNTERS_SAMPLER_RECORD, 5);

SIZE(agent_type, 4);
VALUE(ROCPROFILER_CPU_AGENT, 0);
VALUE(ROCPROFILER_GPU_AGENT, 1);

SIZE(agent_info_kind, 4);
VALUE(ROCPROFILER_AGENT_NAME, 0);
VALUE(ROCPROFILER_AGENT_TYPE, 1);

SIZE(queue_info_kind, 4);
VALUE(ROCPROFILER_QUEUE_SIZE, 0);

SIZE(kernel_info_kind, 4);
VALUE(ROCPROFILER_KERNEL_NAME, 0);

SIZE(counter_info_kind, 4);
VALUE(ROCPROFILER_COUNTER_NAME, 0);
VALUE(ROCPROFILER_COUNTER_BLOCK_ID, 2);
VALUE(ROCPROFILER_COUNTER_HIERARCHY_LEVEL, 3);

SIZE(codeobj_capture_mode, 4);
VALUE(ROCPROFILER_CAPTURE_SYMBOLS_ONLY, 0);
VALUE(ROCPROFILER_CAPTURE_COPY_MEMORY, 1);
VALUE(ROCPROFILER_CAPTURE_COPY_FILE_AND_MEMORY, 2);

SIZE(tracer_activity_domain, 4);
VALUE(ACTIVITY_DOMAIN_HSA_API, 0);
VALUE(ACTIVITY_DOMAIN_HSA_OPS, 1);
VALUE(ACTIVITY_DOMAIN_HIP_OPS, 2);
VALUE(ACTIVITY_DOMAIN_HIP_API, 3);
VALUE(ACTIVITY_DOMAIN_KFD_API, 4);
VALUE(ACTIVITY_DOMAIN_EXT_API, 5);
VALUE(ACTIVITY_DOMAIN_ROCTX, 6);
VALUE(ACTIVITY_DOMAIN_HSA_EVT, 7);
VALUE(ACTIVITY_DOMAIN_NUMBER, 8);

SIZE(api_tracing_phase, 4);
VALUE(ROCPROFILER_PHASE_NONE, 0);
VALUE(ROCPROFILER_PHASE_ENTER, 1);
VALUE(ROCPROFILER_PHASE_EXIT, 2);

SIZE(buffer_property_kind, 4);
VALUE(ROCPROFILER_BUFFER_PROPERTY_KIND_INTERVAL_FLUSH, 0);

SIZE(replay_mode, 4);
VALUE(ROCPROFILER_NONE_REPLAY_MODE, -1);

SIZE(filter_kind, 4);
VALUE(ROCPROFILER_DISPATCH_TIMESTAMPS_COLLECTION, 1);
VALUE(ROCPROFILER_COUNTERS_COLLECTION, 2);
VALUE(ROCPROFILER_PC_SAMPLING_COLLECTION, 3);
VALUE(ROCPROFILER_ATT_TRACE_COLLECTION, 4);
VALUE(ROCPROFILER_SPM_COLLECTION, 5);
VALUE(ROCPROFILER_API_TRACE, 6);
VALUE(ROCPROFILER_COUNTERS_SAMPLER, 7);

SIZE(filter_property_kind, 4);
VALUE(ROCPROFILER_FILTER_HSA_TRACER_API_FUNCTIONS, 1);
VALUE(ROCPROFILER_FILTER_HIP_TRACER_API_FUNCTIONS, 2);
VALUE(ROCPROFILER_FILTER_GPU_NAME, 3);
VALUE(ROCPROFILER_FILTER_RANGE, 4);
VALUE(ROCPROFILER_FILTER_KERNEL_NAMES, 5);
VALUE(ROCPROFILER_FILTER_DISPATCH_IDS, 6);

SIZE(att_parameter_name, 4);
VALUE(ROCPROFILER_ATT_COMPUTE_UNIT, 0);
VALUE(ROCPROFILER_ATT_VMID_MASK, 1);
VALUE(ROCPROFILER_ATT_MASK, 2);
VALUE(ROCPROFILER_ATT_TOKEN_MASK, 3);
VALUE(ROCPROFILER_ATT_TOKEN_MASK2, 4);
VALUE(ROCPROFILER_ATT_SE_MASK, 5);
VALUE(ROCPROFILER_ATT_SAMPLE_RATE, 6);
VALUE(ROCPROFILER_ATT_SIMD_SELECT, 8);
VALUE(ROCPROFILER_ATT_OCCUPANCY, 9);
VALUE(ROCPROFILER_ATT_BUFFER_SIZE, 10);
VALUE(ROCPROFILER_ATT_CAPTURE_MODE, 11);
VALUE(ROCPROFILER_ATT_PERF_MASK, 240);
VALUE(ROCPROFILER_ATT_PERF_CTRL, 241);
VALUE(ROCPROFILER_ATT_PERFCOUNTER, 242);
VALUE(ROCPROFILER_ATT_PERFCOUNTER_NAME, 243);
VALUE(ROCPROFILER_ATT_MAXVALUE, 244);

SIZE(counters_sampler_counter_type, 4);
VALUE(ROCPROFILER_COUNTERS_SAMPLER_PCIE_COUNTERS, 0);
VALUE(ROCPROFILER_COUNTERS_SAMPLER_XGMI_COUNTERS, 1);

// Identifiers and values.

#define WRAPPER(type, field, bytes, ...)                                                           \
    SIZE(type, bytes);                                                                             \
    AT(type, field, 0);                                                                            \
    TYPE(type, field, __VA_ARGS__)

WRAPPER(session_id, handle, 8, uint64_t);
WRAPPER(record_id, handle, 8, uint64_t);
WRAPPER(agent_id, handle, 8, uint64_t);
WRAPPER(queue_id, handle, 8, uint64_t);
WRAPPER(kernel_id, handle, 8, uint64_t);
WRAPPER(counter_id, handle, 8, uint64_t);
WRAPPER(timestamp, value, 8, uint64_t);
WRAPPER(buffer_id, value, 8, uint64_t);
WRAPPER(filter_id, value, 8, uint64_t);
WRAPPER(queue_index, value, 8, uint64_t);
WRAPPER(correlation_id, value, 8, uint64_t);
WRAPPER(tracer_activity_correlation_id, value, 8, uint64_t);
WRAPPER(kernel_dispatch_id, value, 8, uint64_t);
WRAPPER(record_counters_instances_count, value, 8, uint64_t);
WRAPPER(tracer_external_id, id, 8, uint64_t);
WRAPPER(thread_id, value, 4, uint32_t);
WRAPPER(event_id, value, 4, uint32_t);
WRAPPER(tracer_operation_id, id, 4, uint32_t);
WRAPPER(record_spm_counters_instances_count, value, 2, uint16_t);
WRAPPER(record_counter_value, value, 8, double);
WRAPPER(counter_value, value, 8, double);

// Input structs.

SIZE(filter_data, 32);
AT(filter_data, trace_apis, 0);
AT(filter_data, counters_names, 0);
AT(filter_data, att_parameters, 0);
AT(filter_data, spm_parameters, 0);
AT(filter_data, counters_sampler_parameters, 0);
TYPE(filter_data, trace_apis, rocprofiler_tracer_activity_domain_t*);
TYPE(filter_data, counters_names, const char**);
TYPE(filter_data, att_parameters, rocprofiler_att_parameter_t*);
TYPE(filter_data, spm_parameters, rocprofiler_spm_parameter_t*);
TYPE(filter_data, counters_sampler_parameters, rocprofiler_counters_sampler_parameters_t);

SIZE(filter_property, 24);
AT(filter_property, kind, 0);
AT(filter_property, name_regex, 8);
AT(filter_property, hip_functions_names, 8);
AT(filter_property, hsa_functions_names, 8);
AT(filter_property, range, 8);
AT(filter_property, dispatch_ids, 8);
AT(filter_property, data_count, 16);
TYPE(filter_property, name_regex, const char**);
TYPE(filter_property, hip_functions_names, const char**);
TYPE(filter_property, hsa_functions_names, const char**);
ARRAY(filter_property, range, uint32_t, 2);
TYPE(filter_property, data_count, uint64_t);
TYPE(filter_property, kind, rocprofiler_filter_property_kind_t);
TYPE(filter_property, dispatch_ids, struct rocprofiler_filter_dispatch_ids_t*);
CHECK(sizeof(((rocprofiler_filter_property_t*) 0)->dispatch_ids[0]) == 16);
CHECK(offsetof(struct rocprofiler_filter_dispatch_ids_t, start) == 0);
CHECK(offsetof(struct rocprofiler_filter_dispatch_ids_t, end) == 8);

SIZE(att_parameter, 16);
AT(att_parameter, parameter_name, 0);
AT(att_parameter, value, 8);
AT(att_parameter, counter_name, 8);
TYPE(att_parameter, value, uint32_t);
TYPE(att_parameter, counter_name, const char*);
TYPE(att_parameter, parameter_name, rocprofiler_att_parameter_name_t);

SIZE(spm_parameter, 24);
AT(spm_parameter, counters_names, 0);
AT(spm_parameter, counters_count, 8);
AT(spm_parameter, sampling_rate, 12);
AT(spm_parameter, gpu_agent_id, 16);
TYPE(spm_parameter, counters_names, const char**);
TYPE(spm_parameter, counters_count, int);
TYPE(spm_parameter, sampling_rate, uint32_t);
TYPE(spm_parameter, gpu_agent_id, rocprofiler_agent_id_t*);

SIZE(counters_sampler_parameters, 32);
AT(counters_sampler_parameters, counters, 0);
AT(counters_sampler_parameters, counters_num, 8);
AT(counters_sampler_parameters, sampling_rate, 12);
AT(counters_sampler_parameters, sampling_duration, 16);
AT(counters_sampler_parameters, initial_delay, 20);
AT(counters_sampler_parameters, gpu_agent_index, 24);
TYPE(counters_sampler_parameters, counters, rocprofiler_counters_sampler_counter_input_t*);
TYPE(counters_sampler_parameters, counters_num, int);
TYPE(counters_sampler_parameters, sampling_rate, uint32_t);
TYPE(counters_sampler_parameters, sampling_duration, uint32_t);
TYPE(counters_sampler_parameters, initial_delay, uint32_t);
TYPE(counters_sampler_parameters, gpu_agent_index, int);

SIZE(counters_sampler_counter_input, 16);
AT(counters_sampler_counter_input, name, 0);
AT(counters_sampler_counter_input, type, 8);
TYPE(counters_sampler_counter_input, name, char*);
TYPE(counters_sampler_counter_input, type, rocprofiler_counters_sampler_counter_type_t);

SIZE(buffer_property, 16);
AT(buffer_property, kind, 0);
AT(buffer_property, value, 8);
TYPE(buffer_property, value, uint64_t);
TYPE(buffer_property, kind, rocprofiler_buffer_property_kind_t);

// Output structs.

SIZE(record_header, 16);
AT(record_header, kind, 0);
AT(record_header, id, 8);
AT(record_header, id.handle, 8);
TYPE(record_header, kind, rocprofiler_record_kind_t);
TYPE(record_header, id, rocprofiler_record_id_t);

SIZE(record_header_timestamp, 16);
AT(record_header_timestamp, begin, 0);
AT(record_header_timestamp, end, 8);
TYPE(record_header_timestamp, begin, rocprofiler_timestamp_t);
TYPE(record_header_timestamp, end, rocprofiler_timestamp_t);

SIZE(record_tracer, 96);
AT(record_tracer, header, 0);
AT(record_tracer, external_id, 16);
AT(record_tracer, domain, 24);
AT(record_tracer, operation_id, 28);
AT(record_tracer, api_data, 32);
AT(record_tracer, correlation_id, 40);
AT(record_tracer, timestamps.begin, 48);
AT(record_tracer, timestamps.end, 56);
AT(record_tracer, agent_id, 64);
AT(record_tracer, queue_id, 72);
AT(record_tracer, thread_id, 80);
AT(record_tracer, phase, 84);
AT(record_tracer, name, 88);
TYPE(record_tracer, name, const char*);
TYPE(record_tracer, header, rocprofiler_record_header_t);
TYPE(record_tracer, external_id, rocprofiler_tracer_external_id_t);
TYPE(record_tracer, domain, rocprofiler_tracer_activity_domain_t);
TYPE(record_tracer, operation_id, rocprofiler_tracer_operation_id_t);
TYPE(record_tracer, api_data, rocprofiler_tracer_api_data_t);
TYPE(record_tracer, correlation_id, rocprofiler_tracer_activity_correlation_id_t);
TYPE(record_tracer, timestamps, rocprofiler_record_header_timestamp_t);
TYPE(record_tracer, agent_id, rocprofiler_agent_id_t);
TYPE(record_tracer, queue_id, rocprofiler_queue_id_t);
TYPE(record_tracer, thread_id, rocprofiler_thread_id_t);
TYPE(record_tracer, phase, rocprofiler_api_tracing_phase_t);

SIZE(tracer_api_data, 8);
AT(tracer_api_data, hip, 0);
AT(tracer_api_data, hsa, 0);
AT(tracer_api_data, roctx, 0);
TYPE(tracer_api_data, hip, const struct hip_api_data_s*);
TYPE(tracer_api_data, hsa, const struct hsa_api_data_s*);
TYPE(tracer_api_data, roctx, const struct roctx_api_data_s*);

SIZE(kernel_properties, 72);
AT(kernel_properties, grid_size, 0);
AT(kernel_properties, workgroup_size, 8);
AT(kernel_properties, lds_size, 16);
AT(kernel_properties, scratch_size, 24);
AT(kernel_properties, arch_vgpr_count, 32);
AT(kernel_properties, accum_vgpr_count, 40);
AT(kernel_properties, sgpr_count, 48);
AT(kernel_properties, wave_size, 56);
AT(kernel_properties, signal_handle, 64);
TYPE(kernel_properties, grid_size, uint64_t);
TYPE(kernel_properties, signal_handle, uint64_t);
TYPE(kernel_properties, workgroup_size, uint64_t);
TYPE(kernel_properties, lds_size, uint64_t);
TYPE(kernel_properties, scratch_size, uint64_t);
TYPE(kernel_properties, arch_vgpr_count, uint64_t);
TYPE(kernel_properties, accum_vgpr_count, uint64_t);
TYPE(kernel_properties, sgpr_count, uint64_t);
TYPE(kernel_properties, wave_size, uint64_t);

SIZE(record_counter_instance, 16);
AT(record_counter_instance, counter_handler, 0);
AT(record_counter_instance, value, 8);
AT(record_counter_instance, value.value, 8);
TYPE(record_counter_instance, counter_handler, rocprofiler_counter_id_t);
TYPE(record_counter_instance, value, rocprofiler_record_counter_value_t);

SIZE(record_profiler, 176);
AT(record_profiler, header, 0);
AT(record_profiler, kernel_id, 16);
AT(record_profiler, gpu_id, 24);
AT(record_profiler, queue_id, 32);
AT(record_profiler, timestamps.begin, 40);
AT(record_profiler, timestamps.end, 48);
AT(record_profiler, counters, 56);
AT(record_profiler, counters_count, 64);
AT(record_profiler, xcc_index, 72);
AT(record_profiler, kernel_properties, 80);
AT(record_profiler, thread_id, 152);
AT(record_profiler, queue_idx, 160);
AT(record_profiler, correlation_id, 168);
TYPE(record_profiler, counters, const rocprofiler_record_counter_instance_t*);
TYPE(record_profiler, xcc_index, uint32_t);
TYPE(record_profiler, header, rocprofiler_record_header_t);
TYPE(record_profiler, kernel_id, rocprofiler_kernel_id_t);
TYPE(record_profiler, gpu_id, rocprofiler_agent_id_t);
TYPE(record_profiler, queue_id, rocprofiler_queue_id_t);
TYPE(record_profiler, timestamps, rocprofiler_record_header_timestamp_t);
TYPE(record_profiler, counters_count, rocprofiler_record_counters_instances_count_t);
TYPE(record_profiler, kernel_properties, rocprofiler_kernel_properties_t);
TYPE(record_profiler, thread_id, rocprofiler_thread_id_t);
TYPE(record_profiler, queue_idx, rocprofiler_queue_index_t);
TYPE(record_profiler, correlation_id, rocprofiler_correlation_id_t);

SIZE(record_se_spm_data, 64);
AT(record_se_spm_data, counters_data, 0);
ARRAY(record_se_spm_data, counters_data, rocprofiler_record_spm_counters_instances_count_t, 32);

SIZE(record_spm, 288);
AT(record_spm, header, 0);
AT(record_spm, timestamps, 16);
AT(record_spm, shader_engine_data, 32);
ARRAY(record_spm, shader_engine_data, rocprofiler_record_se_spm_data_t, 4);
TYPE(record_spm, header, rocprofiler_record_header_t);
TYPE(record_spm, timestamps, rocprofiler_record_header_timestamp_t);

SIZE(record_att_tracer, 176);
AT(record_att_tracer, header, 0);
AT(record_att_tracer, kernel_id, 16);
AT(record_att_tracer, gpu_id, 24);
AT(record_att_tracer, queue_id, 32);
AT(record_att_tracer, kernel_properties, 40);
AT(record_att_tracer, thread_id, 112);
AT(record_att_tracer, queue_idx, 120);
AT(record_att_tracer, writer_id, 128);
AT(record_att_tracer, shader_engine_data, 136);
AT(record_att_tracer, shader_engine_data_count, 144);
AT(record_att_tracer, intercept_list, 152);
TYPE(record_att_tracer, writer_id, uint64_t);
TYPE(record_att_tracer, shader_engine_data, rocprofiler_record_se_att_data_t*);
TYPE(record_att_tracer, shader_engine_data_count, uint64_t);
TYPE(record_att_tracer, intercept_list, rocprofiler_codeobj_symbols_t);
TYPE(record_att_tracer, header, rocprofiler_record_header_t);
TYPE(record_att_tracer, kernel_id, rocprofiler_kernel_id_t);
TYPE(record_att_tracer, gpu_id, rocprofiler_agent_id_t);
TYPE(record_att_tracer, queue_id, rocprofiler_queue_id_t);
TYPE(record_att_tracer, kernel_properties, rocprofiler_kernel_properties_t);
TYPE(record_att_tracer, thread_id, rocprofiler_thread_id_t);
TYPE(record_att_tracer, queue_idx, rocprofiler_queue_index_t);

SIZE(record_se_att_data, 16);
AT(record_se_att_data, buffer_ptr, 0);
AT(record_se_att_data, buffer_size, 8);
TYPE(record_se_att_data, buffer_ptr, void*);
TYPE(record_se_att_data, buffer_size, uint32_t);

SIZE(codeobj_symbols, 24);
AT(codeobj_symbols, symbols, 0);
AT(codeobj_symbols, count, 8);
AT(codeobj_symbols, userdata, 16);
TYPE(codeobj_symbols, symbols, const rocprofiler_intercepted_codeobj_t*);
TYPE(codeobj_symbols, count, uint64_t);
TYPE(codeobj_symbols, userdata, uint64_t);

SIZE(intercepted_codeobj, 64);
AT(intercepted_codeobj, filepath, 0);
AT(intercepted_codeobj, base_address, 8);
AT(intercepted_codeobj, mem_size, 16);
AT(intercepted_codeobj, data, 24);
AT(intercepted_codeobj, data_size, 32);
AT(intercepted_codeobj, clock_start, 40);
AT(intercepted_codeobj, clock_end, 48);
AT(intercepted_codeobj, att_marker_id, 56);
TYPE(intercepted_codeobj, filepath, const char*);
TYPE(intercepted_codeobj, base_address, uint64_t);
TYPE(intercepted_codeobj, mem_size, uint64_t);
TYPE(intercepted_codeobj, data, const char*);
TYPE(intercepted_codeobj, data_size, uint64_t);
TYPE(intercepted_codeobj, att_marker_id, uint32_t);
TYPE(intercepted_codeobj, clock_start, rocprofiler_timestamp_t);
TYPE(intercepted_codeobj, clock_end, rocprofiler_timestamp_t);

SIZE(pc_sample, 40);
AT(pc_sample, dispatch_id, 0);
AT(pc_sample, timestamp, 8);
AT(pc_sample, cycle, 8);
AT(pc_sample, pc, 16);
AT(pc_sample, se, 24);
AT(pc_sample, gpu_id, 32);
TYPE(pc_sample, cycle, uint64_t);
TYPE(pc_sample, pc, uint64_t);
TYPE(pc_sample, se, uint32_t);
TYPE(pc_sample, dispatch_id, rocprofiler_kernel_dispatch_id_t);
TYPE(pc_sample, timestamp, rocprofiler_timestamp_t);
TYPE(pc_sample, gpu_id, rocprofiler_agent_id_t);

SIZE(record_pc_sample, 56);
AT(record_pc_sample, header, 0);
AT(record_pc_sample, pc_sample, 16);
AT(record_pc_sample, pc_sample.dispatch_id, 16);
AT(record_pc_sample, pc_sample.timestamp, 24);
AT(record_pc_sample, pc_sample.pc, 32);
AT(record_pc_sample, pc_sample.se, 40);
AT(record_pc_sample, pc_sample.gpu_id, 48);
TYPE(record_pc_sample, header, rocprofiler_record_header_t);
TYPE(record_pc_sample, pc_sample, rocprofiler_pc_sample_t);

SIZE(record_counters_sampler, 40);
AT(record_counters_sampler, header, 0);
AT(record_counters_sampler, gpu_id, 16);
AT(record_counters_sampler, counters, 24);
AT(record_counters_sampler, num_counters, 32);
TYPE(record_counters_sampler, counters, rocprofiler_counters_sampler_counter_output_t*);
TYPE(record_counters_sampler, num_counters, uint32_t);
TYPE(record_counters_sampler, header, rocprofiler_record_header_t);
TYPE(record_counters_sampler, gpu_id, rocprofiler_agent_id_t);

SIZE(counters_sampler_counter_output, 16);
AT(counters_sampler_counter_output, type, 0);
AT(counters_sampler_counter_output, value, 8);
TYPE(counters_sampler_counter_output, type, rocprofiler_counters_sampler_counter_type_t);
TYPE(counters_sampler_counter_output, value, rocprofiler_record_counter_value_t);

SIZE(counter_info, 48);
AT(counter_info, name, 0);
AT(counter_info, description, 8);
AT(counter_info, expression, 16);
AT(counter_info, instances_count, 24);
AT(counter_info, block_name, 32);
AT(counter_info, block_counters, 40);
TYPE(counter_info, name, const char*);
TYPE(counter_info, instances_count, uint32_t);
TYPE(counter_info, block_counters, uint32_t);
TYPE(counter_info, description, const char*);
TYPE(counter_info, expression, const char*);
TYPE(counter_info, block_name, const char*);

SIZE(device_profile_metric, 72);
AT(device_profile_metric, metric_name, 0);
AT(device_profile_metric, value, 64);
ARRAY(device_profile_metric, metric_name, char, 64);
TYPE(device_profile_metric, value, rocprofiler_counter_value_t);

// Marker operations and arguments.

VALUE(ROCTX_API_ID_roctxMarkA, 0);
VALUE(ROCTX_API_ID_roctxRangePushA, 1);
VALUE(ROCTX_API_ID_roctxRangePop, 2);
VALUE(ROCTX_API_ID_roctxRangeStartA, 3);
VALUE(ROCTX_API_ID_roctxRangeStop, 4);
VALUE(ROCTX_API_ID_NUMBER, 5);
CHECK(sizeof(struct roctx_api_data_s) == 16);
CHECK(offsetof(struct roctx_api_data_s, args.message) == 0);
CHECK(offsetof(struct roctx_api_data_s, args.id) == 8);

// Callbacks.

typedef void (*buffer_callback)(const rocprofiler_record_header_t*,
                                const rocprofiler_record_header_t*,
                                rocprofiler_session_id_t,
                                rocprofiler_buffer_id_t);
typedef void (*sync_callback)(rocprofiler_record_tracer_t, rocprofiler_session_id_t);
typedef int (*counters_info_callback)(rocprofiler_counter_info_t, const char*, uint32_t);
SAME((rocprofiler_buffer_callback_t) 0, buffer_callback);
SAME((rocprofiler_sync_callback_t) 0, sync_callback);
SAME((rocprofiler_counters_info_callback_t) 0, counters_info_callback);

// Functions.

FUNCTION(rocprofiler_version_major, uint32_t, (void));
FUNCTION(rocprofiler_version_minor, uint32_t, (void));
FUNCTION(rocprofiler_error_str, const char*, (rocprofiler_status_t));
STATUS_FUNCTION(initialize, (void));
STATUS_FUNCTION(finalize, (void));
STATUS_FUNCTION(get_timestamp, (rocprofiler_timestamp_t*));
STATUS_FUNCTION(iterate_counters, (counters_info_callback));
STATUS_FUNCTION(query_agent_info_size,
                (rocprofiler_agent_info_kind_t, rocprofiler_agent_id_t, size_t*));
STATUS_FUNCTION(query_agent_info,
                (rocprofiler_agent_info_kind_t, rocprofiler_agent_id_t, const char**));
STATUS_FUNCTION(query_queue_info_size,
                (rocprofiler_queue_info_kind_t, rocprofiler_queue_id_t, size_t*));
STATUS_FUNCTION(query_queue_info,
                (rocprofiler_queue_info_kind_t, rocprofiler_queue_id_t, const char**));
STATUS_FUNCTION(query_kernel_info_size,
                (rocprofiler_kernel_info_kind_t, rocprofiler_kernel_id_t, size_t*));
STATUS_FUNCTION(query_kernel_info,
                (rocprofiler_kernel_info_kind_t, rocprofiler_kernel_id_t, const char**));
STATUS_FUNCTION(query_counter_info_size,
                (rocprofiler_session_id_t,
                 rocprofiler_counter_info_kind_t,
                 rocprofiler_counter_id_t,
                 size_t*));
STATUS_FUNCTION(query_counter_info,
                (rocprofiler_session_id_t,
                 rocprofiler_counter_info_kind_t,
                 rocprofiler_counter_id_t,
                 const char**));
STATUS_FUNCTION(query_tracer_operation_name,
                (rocprofiler_tracer_activity_domain_t,
                 rocprofiler_tracer_operation_id_t,
                 const char**));
STATUS_FUNCTION(tracer_operation_id,
                (rocprofiler_tracer_activity_domain_t,
                 const char*,
                 rocprofiler_tracer_operation_id_t*));
STATUS_FUNCTION(flush_data, (rocprofiler_session_id_t, rocprofiler_buffer_id_t));
STATUS_FUNCTION(next_record,
                (const rocprofiler_record_header_t*,
                 const rocprofiler_record_header_t**,
                 rocprofiler_session_id_t,
                 rocprofiler_buffer_id_t));
STATUS_FUNCTION(create_session, (rocprofiler_replay_mode_t, rocprofiler_session_id_t*));
STATUS_FUNCTION(destroy_session, (rocprofiler_session_id_t));
STATUS_FUNCTION(create_filter,
                (rocprofiler_session_id_t,
                 rocprofiler_filter_kind_t,
                 rocprofiler_filter_data_t,
                 uint64_t,
                 rocprofiler_filter_id_t*,
                 rocprofiler_filter_property_t));
STATUS_FUNCTION(set_filter_buffer,
                (rocprofiler_session_id_t, rocprofiler_filter_id_t, rocprofiler_buffer_id_t));
STATUS_FUNCTION(set_api_trace_sync_callback,
                (rocprofiler_session_id_t, rocprofiler_filter_id_t, sync_callback));
STATUS_FUNCTION(destroy_filter, (rocprofiler_session_id_t, rocprofiler_filter_id_t));
STATUS_FUNCTION(create_buffer,
                (rocprofiler_session_id_t, buffer_callback, size_t, rocprofiler_buffer_id_t*));
STATUS_FUNCTION(set_buffer_properties,
                (rocprofiler_session_id_t,
                 rocprofiler_buffer_id_t,
                 rocprofiler_buffer_property_t*,
                 uint32_t));
STATUS_FUNCTION(destroy_buffer, (rocprofiler_session_id_t, rocprofiler_buffer_id_t));
STATUS_FUNCTION(create_ready_session,
                (rocprofiler_replay_mode_t,
                 rocprofiler_filter_kind_t,
                 rocprofiler_filter_data_t,
                 uint64_t,
                 size_t,
                 buffer_callback,
                 rocprofiler_session_id_t*,
                 rocprofiler_filter_property_t,
                 sync_callback));
STATUS_FUNCTION(start_session, (rocprofiler_session_id_t));
STATUS_FUNCTION(terminate_session, (rocprofiler_session_id_t));
STATUS_FUNCTION(device_profiling_session_create,
                (const char**, uint64_t, rocprofiler_session_id_t*, int, int));
STATUS_FUNCTION(device_profiling_session_start, (rocprofiler_session_id_t));
STATUS_FUNCTION(device_profiling_session_poll,
                (rocprofiler_session_id_t, rocprofiler_device_profile_metric_t*));
STATUS_FUNCTION(device_profiling_session_stop, (rocprofiler_session_id_t));
STATUS_FUNCTION(device_profiling_session_destroy, (rocprofiler_session_id_t));
STATUS_FUNCTION(codeobj_capture_create,
                (rocprofiler_record_id_t*, rocprofiler_codeobj_capture_mode_t, uint64_t));
STATUS_FUNCTION(codeobj_capture_get, (rocprofiler_record_id_t, rocprofiler_codeobj_symbols_t*));
STATUS_FUNCTION(codeobj_capture_free, (rocprofiler_record_id_t));
STATUS_FUNCTION(codeobj_capture_start, (rocprofiler_record_id_t));
STATUS_FUNCTION(codeobj_capture_stop, (rocprofiler_record_id_t));

FUNCTION(rocprofiler_plugin_initialize, int, (uint32_t, uint32_t, void*));
FUNCTION(rocprofiler_plugin_finalize, void, (void));
FUNCTION(rocprofiler_plugin_write_buffer_records,
         int,
         (const rocprofiler_record_header_t*,
          const rocprofiler_record_header_t*,
          rocprofiler_session_id_t,
          rocprofiler_buffer_id_t));
FUNCTION(rocprofiler_plugin_write_record, int, (rocprofiler_record_tracer_t));

int
main(void)
{
    return 0;
}
