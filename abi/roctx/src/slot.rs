//! The slot of the older library: one callback for the whole process, called beside whatever the tables lead to.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The callback: gets the domain, the number of the function, and the call's arguments. What it returns is ignored.
pub type Callback = unsafe extern "C" fn(domain: c_int, operation: u32, data: *mut c_void) -> c_int;

/// The number of ROCTx among the domains of roctracer.
const DOMAIN: c_int = 6;

/// The numbers of the functions.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Operation {
    Mark = 0,
    RangePush = 1,
    RangePop = 2,
    RangeStart = 3,
    RangeStop = 4,
}

/// The arguments of a call. Those that a function does not have are null and 0.
#[repr(C)]
struct Arguments {
    message: *const c_char,
    id: u64,
}

const _: () = assert!(size_of::<Arguments>() == 16 && std::mem::offset_of!(Arguments, id) == 8);

/// A [`Callback`], or null.
static SLOT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Calls the callback, if there is one.
#[inline]
pub fn call(operation: Operation, message: *const c_char, id: u64) {
    let callback = SLOT.load(Ordering::Acquire);
    if !callback.is_null() {
        call_callback(callback, operation, message, id);
    }
}

// Not inlined: the callers would make room for the arguments on each call.
#[cold]
#[inline(never)]
fn call_callback(callback: *mut c_void, operation: Operation, message: *const c_char, id: u64) {
    let mut arguments = Arguments { message, id };
    // SAFETY: what is not null in the slot is a `Callback`.
    let callback = unsafe { std::mem::transmute::<*mut c_void, Callback>(callback) };
    // SAFETY: the callback gets what its type promises. The arguments live until it has returned.
    unsafe { callback(DOMAIN, operation as u32, (&raw mut arguments).cast()) };
}

/// Sets the callback that is called once for each mark, push, pop, start and stop; NULL removes it. Another thread may still
/// be in the earlier callback when this returns.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn roctxRegisterTracerCallback(callback: Option<Callback>) {
    SLOT.store(callback.map_or(ptr::null_mut(), |callback| callback as *mut c_void), Ordering::Release);
}
