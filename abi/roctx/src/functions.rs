//! The exported functions. Each registers the tables if no earlier call has done so, and calls through its table's
//! entry. Those for marks and ranges also call the slot's callback once, whether or not a profiler has wrapped them.

// The functions have their names in C.
#![allow(non_snake_case)]

use std::ffi::{c_int, c_void};

use opscope_border::{Out, Text, exported};

use crate::registration;
use crate::slot::{self, Operation};
use crate::tables::{CONTROL, CORE, NAME};
use crate::unwrapped_functions;

/// Marks this point in time with a text.
#[exported]
pub fn roctxMarkA(message: Text<'_>) {
    registration::ensure();
    slot::call(Operation::Mark, message, 0);
    CORE.mark.load().unwrap_or(unwrapped_functions::mark)(message)
}

/// Begins a range on this thread, inside its open ranges. Returns how many were open before.
#[exported]
pub fn roctxRangePushA(message: Text<'_>) -> c_int {
    registration::ensure();
    slot::call(Operation::RangePush, message, 0);
    CORE.range_push.load().unwrap_or(unwrapped_functions::range_push)(message)
}

/// Ends the range that this thread began last. Returns how many are left, or -1 if there was none.
#[exported]
pub fn roctxRangePop() -> c_int {
    registration::ensure();
    slot::call(Operation::RangePop, Text::NULL, 0);
    CORE.range_pop.load().unwrap_or(unwrapped_functions::range_pop)()
}

/// Begins a range that any thread may end. Returns its id: 1, 2, 3, ...
#[exported]
pub fn roctxRangeStartA(message: Text<'_>) -> u64 {
    registration::ensure();
    let id = CORE.range_start.load().unwrap_or(unwrapped_functions::range_start)(message);
    // Called second, because the callback receives the id that the caller receives.
    slot::call(Operation::RangeStart, message, id);
    id
}

/// Ends the range with this id.
#[exported]
pub fn roctxRangeStop(id: u64) {
    registration::ensure();
    slot::call(Operation::RangeStop, Text::NULL, id);
    CORE.range_stop.load().unwrap_or(unwrapped_functions::range_stop)(id)
}

/// Writes this thread's number in the system, as gettid() gives it. Returns 0, or -1 if the pointer is NULL.
#[exported]
pub fn roctxGetThreadId(to: Out<'_, u64>) -> c_int {
    registration::ensure();
    CORE.get_thread_id.load().unwrap_or(unwrapped_functions::get_thread_id)(to)
}

/// Asks the profiler to pause for one thread, or for all threads if `thread` is 0. Returns what the profiler returns; 0
/// if there is none.
#[exported]
pub fn roctxProfilerPause(thread: u64) -> c_int {
    registration::ensure();
    CONTROL.profiler_pause.load().unwrap_or(unwrapped_functions::profiler_pause)(thread)
}

/// Asks the profiler to continue for one thread, or for all threads if `thread` is 0. Returns what the profiler
/// returns; 0 if there is none.
#[exported]
pub fn roctxProfilerResume(thread: u64) -> c_int {
    registration::ensure();
    CONTROL.profiler_resume.load().unwrap_or(unwrapped_functions::profiler_resume)(thread)
}

/// Names this thread. Returns what the profiler returns; 0 if there is none.
#[exported]
pub fn roctxNameOsThread(name: Text<'_>) -> c_int {
    registration::ensure();
    NAME.os_thread.load().unwrap_or(unwrapped_functions::name_os_thread)(name)
}

/// Names an HSA agent. Returns what the profiler returns; 0 if there is none.
#[exported]
pub fn roctxNameHsaAgent(name: Text<'_>, agent: *const c_void) -> c_int {
    registration::ensure();
    NAME.hsa_agent.load().unwrap_or(unwrapped_functions::name_hsa_agent)(name, agent)
}

/// Names a HIP device. Returns what the profiler returns; 0 if there is none.
#[exported]
pub fn roctxNameHipDevice(name: Text<'_>, device: c_int) -> c_int {
    registration::ensure();
    NAME.hip_device.load().unwrap_or(unwrapped_functions::name_hip_device)(name, device)
}

/// Names a HIP stream. Returns what the profiler returns; 0 if there is none.
#[exported]
pub fn roctxNameHipStream(name: Text<'_>, stream: *const c_void) -> c_int {
    registration::ensure();
    NAME.hip_stream.load().unwrap_or(unwrapped_functions::name_hip_stream)(name, stream)
}

/// Returns the version of this runtime, as it is registered: `10000 * major + 100 * minor + patch`.
#[exported]
pub fn rocprofiler_register_import_roctx() -> u32 {
    registration::VERSION
}

/// Returns the major version of the older library.
#[exported]
pub fn roctx_version_major() -> u32 {
    4
}

/// Returns the minor version of the older library.
#[exported]
pub fn roctx_version_minor() -> u32 {
    1
}
