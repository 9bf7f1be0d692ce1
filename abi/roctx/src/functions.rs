//! The exported functions. Each registers the tables if no call has done so, and calls through its table's entry. Those that the
//! older library has call the slot as well, once, whether a profiler has wrapped them or not.

// They have their names in C.
#![allow(non_snake_case)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use crate::registration;
use crate::slot::{self, Operation};
use crate::tables::{CONTROL, CORE, NAME};
use crate::unwrapped;

/// Marks this moment with a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn roctxMarkA(message: *const c_char) {
    registration::ensure();
    slot::call(Operation::Mark, message, 0);
    // SAFETY: the entry is a function of this type, and the caller's promises are passed on.
    unsafe { CORE.mark.or(unwrapped::mark)(message) }
}

/// Begins a range on this thread, within those that it has begun and not ended. Returns how many these are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn roctxRangePushA(message: *const c_char) -> c_int {
    registration::ensure();
    slot::call(Operation::RangePush, message, 0);
    // SAFETY: as in `roctxMarkA`.
    unsafe { CORE.range_push.or(unwrapped::range_push)(message) }
}

/// Ends the range that this thread has begun last. Returns how many are left, or -1 if there was none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn roctxRangePop() -> c_int {
    registration::ensure();
    slot::call(Operation::RangePop, ptr::null(), 0);
    // SAFETY: as in `roctxMarkA`.
    unsafe { CORE.range_pop.or(unwrapped::range_pop)() }
}

/// Begins a range that any thread may end. Returns its id: 1, 2, 3, ...
#[unsafe(no_mangle)]
pub unsafe extern "C" fn roctxRangeStartA(message: *const c_char) -> u64 {
    registration::ensure();
    // SAFETY: as in `roctxMarkA`.
    let id = unsafe { CORE.range_start.or(unwrapped::range_start)(message) };
    // The callback gets the id that the caller gets, so it comes second.
    slot::call(Operation::RangeStart, message, id);
    id
}

/// Ends the range of this id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn roctxRangeStop(id: u64) {
    registration::ensure();
    slot::call(Operation::RangeStop, ptr::null(), id);
    // SAFETY: as in `roctxMarkA`.
    unsafe { CORE.range_stop.or(unwrapped::range_stop)(id) }
}

/// Writes the number that the kernel gives this thread. Returns 0, or -1 if there is no place to write to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn roctxGetThreadId(to: *mut u64) -> c_int {
    registration::ensure();
    // SAFETY: as in `roctxMarkA`.
    unsafe { CORE.get_thread_id.or(unwrapped::get_thread_id)(to) }
}

/// Asks the profiler to pause, for a thread or with 0 for all. Returns 0 unless the profiler returns something else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn roctxProfilerPause(thread: u64) -> c_int {
    registration::ensure();
    // SAFETY: as in `roctxMarkA`.
    unsafe { CONTROL.profiler_pause.or(unwrapped::profiler_pause)(thread) }
}

/// Asks the profiler to continue, for a thread or with 0 for all. Returns 0 unless the profiler returns something else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn roctxProfilerResume(thread: u64) -> c_int {
    registration::ensure();
    // SAFETY: as in `roctxMarkA`.
    unsafe { CONTROL.profiler_resume.or(unwrapped::profiler_resume)(thread) }
}

/// Names this thread. Returns 0 unless the profiler returns something else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn roctxNameOsThread(name: *const c_char) -> c_int {
    registration::ensure();
    // SAFETY: as in `roctxMarkA`.
    unsafe { NAME.os_thread.or(unwrapped::name_os_thread)(name) }
}

/// Names an HSA agent. Returns 0 unless the profiler returns something else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn roctxNameHsaAgent(name: *const c_char, agent: *const c_void) -> c_int {
    registration::ensure();
    // SAFETY: as in `roctxMarkA`.
    unsafe { NAME.hsa_agent.or(unwrapped::name_hsa_agent)(name, agent) }
}

/// Names a HIP device. Returns 0 unless the profiler returns something else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn roctxNameHipDevice(name: *const c_char, device: c_int) -> c_int {
    registration::ensure();
    // SAFETY: as in `roctxMarkA`.
    unsafe { NAME.hip_device.or(unwrapped::name_hip_device)(name, device) }
}

/// Names a HIP stream. Returns 0 unless the profiler returns something else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn roctxNameHipStream(name: *const c_char, stream: *const c_void) -> c_int {
    registration::ensure();
    // SAFETY: as in `roctxMarkA`.
    unsafe { NAME.hip_stream.or(unwrapped::name_hip_stream)(name, stream) }
}

/// Returns the version that this runtime registers with, as `10000 * major + 100 * minor + patch`.
#[unsafe(no_mangle)]
pub extern "C" fn rocprofiler_register_import_roctx() -> u32 {
    registration::VERSION
}

/// Returns the major version of the older library.
#[unsafe(no_mangle)]
pub extern "C" fn roctx_version_major() -> u32 {
    4
}

/// Returns the minor version of the older library.
#[unsafe(no_mangle)]
pub extern "C" fn roctx_version_minor() -> u32 {
    1
}
