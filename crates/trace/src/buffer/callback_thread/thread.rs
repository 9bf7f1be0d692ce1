//! Starting a thread without the loader's lock.
//!
//! A thread of the standard library takes that lock when it starts, to register destructors of thread-local values. A library that emits
//! records while it is loaded holds the lock, and may wait for a callback thread.

use std::ffi::{CString, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// What a thread is to do.
struct Start {
    /// At most 15 bytes, as the system has it.
    name: CString,
    body: Box<dyn FnOnce() + Send>,
}

/// Starts a thread, which nobody joins.
///
/// # Errors
/// Returns the error of the system.
pub(super) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    const LONGEST: usize = 15;
    let name: Vec<u8> = name.bytes().filter(|byte| *byte != 0).take(LONGEST).collect();
    let start = Start { name: CString::new(name).unwrap_or_default(), body: Box::new(body) };
    let start = Box::into_raw(Box::new(start)).cast::<c_void>();
    let mut thread = MaybeUninit::uninit();
    // SAFETY: the thread gets the pointer, and takes the box back.
    let error = unsafe { libc::pthread_create(thread.as_mut_ptr(), ptr::null(), run, start) };
    if error != 0 {
        // SAFETY: there is no thread that has the box.
        drop(unsafe { Box::from_raw(start.cast::<Start>()) });
        return Err(io::Error::from_raw_os_error(error));
    }
    // SAFETY: the thread was created, and is neither joined nor detached elsewhere.
    unsafe { libc::pthread_detach(thread.assume_init()) };
    Ok(())
}

extern "C" fn run(start: *mut c_void) -> *mut c_void {
    // SAFETY: `spawn` passes its box, once.
    let Start { name, body } = *unsafe { Box::from_raw(start.cast::<Start>()) };
    // SAFETY: the name ends with NUL, and has at most 15 bytes.
    unsafe { libc::pthread_setname_np(libc::pthread_self(), name.as_ptr()) };
    // A panic must not unwind into the C library. It was reported when it began.
    let _ = catch_unwind(AssertUnwindSafe(body));
    ptr::null_mut()
}
