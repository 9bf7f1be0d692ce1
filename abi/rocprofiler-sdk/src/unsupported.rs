//! Functions without a service here: counters, samples of the program counter, traces of shader threads, OpenMP. They
//! exist because programs are linked with them.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use opscope_border::{Out, Text, exported};

use crate::border::{Status, out};

/// Defines functions that return `NotImplemented`, whatever their arguments are.
macro_rules! not_implemented {
    ($($function:ident)+) => {
        $(
            /// Returns `NotImplemented`.
            #[exported]
            pub fn $function() -> Status {
                Status::NotImplemented
            }
        )+
    };
}

not_implemented! {
    rocprofiler_create_counter_config
    rocprofiler_destroy_counter_config
    rocprofiler_query_record_counter_id
    rocprofiler_query_record_dimension_position
    rocprofiler_query_counter_info
    rocprofiler_iterate_counter_dimensions
    rocprofiler_query_counter_instance_count
    rocprofiler_create_counter
    rocprofiler_load_counter_definition
    rocprofiler_configure_device_counting_service
    rocprofiler_sample_device_counting_service
    rocprofiler_configure_pc_sampling_service
    rocprofiler_query_pc_sampling_agent_configurations
    rocprofiler_configure_device_thread_trace_service
    rocprofiler_configure_dispatch_thread_trace_service
    rocprofiler_thread_trace_decoder_codeobj_load
    rocprofiler_thread_trace_decoder_codeobj_unload
    rocprofiler_trace_decode
}

/// Returns NULL: no instruction type has a name here.
#[exported]
pub fn rocprofiler_get_pc_sampling_instruction_type_name(_type: u32) -> *const c_char {
    ptr::null()
}

/// Returns NULL: no reason has a name here.
#[exported]
pub fn rocprofiler_get_pc_sampling_instruction_not_issued_reason_name(_reason: u32) -> *const c_char {
    ptr::null()
}

/// Reports that there is no decoder.
#[exported]
pub fn rocprofiler_thread_trace_decoder_create(_decoder: Out<'_, u64>, _path: Text<'_>) -> Status {
    Status::NotAvailable
}

/// Does nothing: there is no decoder.
#[exported]
pub fn rocprofiler_thread_trace_decoder_destroy(_decoder: u64) {}

/// Returns NULL: there is no decoder.
#[exported]
pub fn rocprofiler_thread_trace_decoder_info_string(_decoder: u64, _info: u32) -> *const c_char {
    ptr::null()
}

/// Writes 0: no OpenMP runtime is traced.
#[exported]
pub fn rocprofiler_ompt_is_initialized(status: Out<'_, c_int>) -> Result<(), Status> {
    out(status).map(|status| status.write(0))
}

/// Writes 0: no OpenMP runtime is traced.
#[exported]
pub fn rocprofiler_ompt_is_finalized(status: Out<'_, c_int>) -> Result<(), Status> {
    out(status).map(|status| status.write(0))
}

/// Returns NULL, so that an OpenMP runtime continues without a tool.
#[exported]
pub fn rocprofiler_ompt_start_tool(_version: u32, _runtime: Text<'_>) -> *mut c_void {
    ptr::null_mut()
}

/// Does the same as `rocprofiler_ompt_start_tool`, under the name that an OpenMP runtime looks for.
#[exported]
pub fn ompt_start_tool(_version: u32, _runtime: Text<'_>) -> *mut c_void {
    ptr::null_mut()
}
