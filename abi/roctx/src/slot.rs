//! The slot of the older library: one callback for the whole process, called in addition to the functions in the
//! tables.

use std::ffi::c_int;

use opscope_border::{Entry, Text, exported};

/// The callback. It receives the domain, the number of the function, and the call's arguments. Its result is ignored.
pub type Callback = extern "C" fn(domain: c_int, operation: u32, arguments: &mut Arguments<'_>) -> c_int;

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
pub struct Arguments<'a> {
    message: Text<'a>,
    id: u64,
}

const _: () = assert!(size_of::<Arguments<'_>>() == 16 && std::mem::offset_of!(Arguments<'_>, id) == 8);

static SLOT: Entry<Callback> = Entry::new(None);

/// Calls the callback, if there is one.
#[inline]
pub fn call(operation: Operation, message: Text<'_>, id: u64) {
    if let Some(callback) = SLOT.load() {
        call_callback(callback, operation, message, id);
    }
}

// If this were inlined, the exported functions would reserve stack for the arguments in every call.
#[cold]
#[inline(never)]
fn call_callback(callback: Callback, operation: Operation, message: Text<'_>, id: u64) {
    callback(DOMAIN, operation as u32, &mut Arguments { message, id });
}

/// Sets the callback, which is called once for each mark, push, pop, start and stop. NULL removes it. When this
/// returns, another thread may still be in the previous callback.
#[exported]
#[allow(non_snake_case)]
pub fn roctxRegisterTracerCallback(callback: Option<Callback>) {
    SLOT.store(callback);
}
