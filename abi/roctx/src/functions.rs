//! The exported functions. Each registers the tables if no call has done so, and calls through its table's entry. Those that the
//! older library has call the slot as well, once, whether a profiler has wrapped them or not.

// They have their names in C.
#![allow(non_snake_case)]

use std::ffi::{c_int, c_void};

use opscope_border::{Out, Text, exported};

use crate::registration;
use crate::slot::{self, Operation};
use crate::tables::{CONTROL, CORE, NAME};
use crate::unwrapped;

/// Marks this moment with a text.
#[exported]
pub fn roctxMarkA(message: Text<'_>) {
    registration::ensure();
    slot::call(Operation::Mark, message, 0);
    CORE.mark.load().unwrap_or(unwrapped::mark)(message)
}

/// Begins a range on this thread, within those that it has begun and not ended. Returns how many these are.
#[exported]
pub fn roctxRangePushA(message: Text<'_>) -> c_int {
    registration::ensure();
    slot::call(Operation::RangePush, message, 0);
    CORE.range_push.load().unwrap_or(unwrapped::range_push)(message)
}

/// Ends the range that this thread has begun last. Returns how many are left, or -1 if there was none.
#[exported]
pub fn roctxRangePop() -> c_int {
    registration::ensure();
    slot::call(Operation::RangePop, Text::NULL, 0);
    CORE.range_pop.load().unwrap_or(unwrapped::range_pop)()
}

/// Begins a range that any thread may end. Returns its id: 1, 2, 3, ...
#[exported]
pub fn roctxRangeStartA(message: Text<'_>) -> u64 {
    registration::ensure();
    let id = CORE.range_start.load().unwrap_or(unwrapped::range_start)(message);
    // The callback gets the id that the caller gets, so it comes second.
    slot::call(Operation::RangeStart, message, id);
    id
}

/// Ends the range of this id.
#[exported]
pub fn roctxRangeStop(id: u64) {
    registration::ensure();
    slot::call(Operation::RangeStop, Text::NULL, id);
    CORE.range_stop.load().unwrap_or(unwrapped::range_stop)(id)
}

/// Writes the number that the kernel gives this thread. Returns 0, or -1 if there is no place to write to.
#[exported]
pub fn roctxGetThreadId(to: Out<'_, u64>) -> c_int {
    registration::ensure();
    CORE.get_thread_id.load().unwrap_or(unwrapped::get_thread_id)(to)
}

/// Asks the profiler to pause, for a thread or with 0 for all. Returns 0 unless the profiler returns something else.
#[exported]
pub fn roctxProfilerPause(thread: u64) -> c_int {
    registration::ensure();
    CONTROL.profiler_pause.load().unwrap_or(unwrapped::profiler_pause)(thread)
}

/// Asks the profiler to continue, for a thread or with 0 for all. Returns 0 unless the profiler returns something else.
#[exported]
pub fn roctxProfilerResume(thread: u64) -> c_int {
    registration::ensure();
    CONTROL.profiler_resume.load().unwrap_or(unwrapped::profiler_resume)(thread)
}

/// Names this thread. Returns 0 unless the profiler returns something else.
#[exported]
pub fn roctxNameOsThread(name: Text<'_>) -> c_int {
    registration::ensure();
    NAME.os_thread.load().unwrap_or(unwrapped::name_os_thread)(name)
}

/// Names an HSA agent. Returns 0 unless the profiler returns something else.
#[exported]
pub fn roctxNameHsaAgent(name: Text<'_>, agent: *const c_void) -> c_int {
    registration::ensure();
    NAME.hsa_agent.load().unwrap_or(unwrapped::name_hsa_agent)(name, agent)
}

/// Names a HIP device. Returns 0 unless the profiler returns something else.
#[exported]
pub fn roctxNameHipDevice(name: Text<'_>, device: c_int) -> c_int {
    registration::ensure();
    NAME.hip_device.load().unwrap_or(unwrapped::name_hip_device)(name, device)
}

/// Names a HIP stream. Returns 0 unless the profiler returns something else.
#[exported]
pub fn roctxNameHipStream(name: Text<'_>, stream: *const c_void) -> c_int {
    registration::ensure();
    NAME.hip_stream.load().unwrap_or(unwrapped::name_hip_stream)(name, stream)
}

/// Returns the version that this runtime registers with, as `10000 * major + 100 * minor + patch`.
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
