//! Starts a thread without the loader's lock, and with the program's signals blocked.
//!
//! A thread of the standard library takes that lock when it starts, to register destructors of thread-local values. But
//! a library that emits records while it is being loaded holds the lock, and may wait for a callback thread.
//!
//! A callback thread sleeps in the middle of a call. Records that a signal handler dropped there would be counted when
//! the thread wakes, which may be never. So handlers run there only during a callback of the user's.

use std::cell::Cell;
use std::ffi::{CString, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use crate::sync::inside::count_noted;

/// What a new thread needs to start.
struct Start {
    /// At most 15 bytes, which is the system's limit.
    name: CString,
    body: Box<dyn FnOnce() + Send>,
    /// The signals that are blocked on the thread that starts it.
    blocked: libc::sigset_t,
}

thread_local! {
    /// The signals that this thread blocks while it calls functions of the user's; `None` on threads that were not
    /// started here.
    static BLOCKED_OUTSIDE: Cell<Option<libc::sigset_t>> = const { Cell::new(None) };
}

/// The signals that a faulty instruction raises. If such a signal is blocked, the system ends the process.
const FAULTS: [libc::c_int; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

/// Starts a detached thread.
///
/// # Errors
/// Returns the error of the system.
pub(super) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    const LONGEST: usize = 15;
    let name: Vec<u8> = name.bytes().filter(|byte| *byte != 0).take(LONGEST).collect();
    let blocked = block(&all_but_faults());
    let _unblock = Reset(blocked);
    let start = Start { name: CString::new(name).unwrap_or_default(), body: Box::new(body), blocked };
    let start = Box::into_raw(Box::new(start)).cast::<c_void>();
    let mut thread = MaybeUninit::uninit();
    // SAFETY: the thread gets the pointer, and turns it back into the box.
    let error = unsafe { libc::pthread_create(thread.as_mut_ptr(), ptr::null(), run, start) };
    if error != 0 {
        // SAFETY: no thread was created, so no other code has the box.
        drop(unsafe { Box::from_raw(start.cast::<Start>()) });
        return Err(io::Error::from_raw_os_error(error));
    }
    // SAFETY: the thread was created, and is neither joined nor detached elsewhere.
    unsafe { libc::pthread_detach(thread.assume_init()) };
    Ok(())
}

extern "C" fn run(start: *mut c_void) -> *mut c_void {
    // SAFETY: the pointer is that of the box that `spawn` passed, and this is the only use of it.
    let Start { name, body, blocked } = *unsafe { Box::from_raw(start.cast::<Start>()) };
    BLOCKED_OUTSIDE.set(Some(blocked));
    // SAFETY: the name ends with NUL, and has at most 15 bytes.
    unsafe { libc::pthread_setname_np(libc::pthread_self(), name.as_ptr()) };
    // A panic must not unwind into the C library. The panic hook has already reported it.
    let _ = catch_unwind(AssertUnwindSafe(body));
    ptr::null_mut()
}

/// Calls a function of the user's. On a callback thread, the signals of the thread that started it are unblocked
/// meanwhile.
pub(in crate::buffer) fn with_signals<T>(function: impl FnOnce() -> T) -> T {
    let reset = BLOCKED_OUTSIDE.get().map(|outside| Reset(block(&outside)));
    let returned = function();
    drop(reset);
    // Records that handlers dropped meanwhile are counted before a flush that waits for the callback returns.
    count_noted();
    returned
}

/// Blocks these signals and no others when it is dropped.
struct Reset(libc::sigset_t);

impl Drop for Reset {
    fn drop(&mut self) {
        block(&self.0);
    }
}

fn all_but_faults() -> libc::sigset_t {
    let mut signals = MaybeUninit::uninit();
    // SAFETY: the set is filled before it is changed, and these are numbers of signals.
    unsafe {
        libc::sigfillset(signals.as_mut_ptr());
        for fault in FAULTS {
            libc::sigdelset(signals.as_mut_ptr(), fault);
        }
        signals.assume_init()
    }
}

/// Blocks these signals and no others. Returns what was blocked before.
fn block(signals: &libc::sigset_t) -> libc::sigset_t {
    let mut before = MaybeUninit::uninit();
    // SAFETY: both are sets of signals; with `SIG_SETMASK` the call cannot fail, and fills the second.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, signals, before.as_mut_ptr());
        before.assume_init()
    }
}
