//! What the functions do where no profiler has wrapped them.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// How many ranges are open on this thread. It has no destructor, so it works as long as the thread runs code.
    static LEVEL: Cell<c_int> = const { Cell::new(0) };
}

static NEXT_RANGE: AtomicU64 = AtomicU64::new(1);

pub unsafe extern "C" fn mark(_message: *const c_char) {}

pub unsafe extern "C" fn range_push(_message: *const c_char) -> c_int {
    let level = LEVEL.get();
    LEVEL.set(level.saturating_add(1));
    level
}

pub unsafe extern "C" fn range_pop() -> c_int {
    let level = LEVEL.get() - 1;
    if level >= 0 {
        LEVEL.set(level);
    }
    level
}

pub unsafe extern "C" fn range_start(_message: *const c_char) -> u64 {
    NEXT_RANGE.fetch_add(1, Ordering::Relaxed)
}

pub unsafe extern "C" fn range_stop(_id: u64) {}

pub unsafe extern "C" fn get_thread_id(to: *mut u64) -> c_int {
    if to.is_null() {
        return -1;
    }
    // SAFETY: the system call has no arguments and always succeeds.
    let thread = unsafe { libc::syscall(libc::SYS_gettid) };
    // SAFETY: the caller gives a writable place.
    unsafe { to.write(thread as u64) };
    0
}

pub unsafe extern "C" fn profiler_pause(_thread: u64) -> c_int {
    0
}

pub unsafe extern "C" fn profiler_resume(_thread: u64) -> c_int {
    0
}

pub unsafe extern "C" fn name_os_thread(_name: *const c_char) -> c_int {
    0
}

pub unsafe extern "C" fn name_hsa_agent(_name: *const c_char, _agent: *const c_void) -> c_int {
    0
}

pub unsafe extern "C" fn name_hip_device(_name: *const c_char, _device: c_int) -> c_int {
    0
}

pub unsafe extern "C" fn name_hip_stream(_name: *const c_char, _stream: *const c_void) -> c_int {
    0
}
