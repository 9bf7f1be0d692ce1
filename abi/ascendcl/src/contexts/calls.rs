//! What programs do with contexts.

use std::ffi::c_int;

use super::table::{self, aclrtContext, aclrtStream};
use super::{check_device, is_primary_open};
use crate::border::{Failure, out};
use crate::handles::pointer;
use crate::last_error::runtime_call;

/// Creates a context with a default stream, and makes it current in this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCreateContext(context: *mut aclrtContext, device: i32) -> c_int {
    runtime_call(|| {
        let context = out(context, "context")?;
        check_device(device)?;
        // SAFETY: it is not NULL, and the program promises that it is writable.
        unsafe { context.write(pointer(table::create())) };
        Ok(())
    })
}

/// Waits for the streams of a context that aclrtCreateContext returned, and ends them with it.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtDestroyContext(context: aclrtContext) -> c_int {
    runtime_call(|| table::destroy(out(context, "context")?.addr()))
}

/// Makes a context current in this thread.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtSetCurrentContext(context: aclrtContext) -> c_int {
    runtime_call(|| table::make_current(out(context, "context")?.addr()))
}

/// Writes the current context of this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetCurrentContext(context: *mut aclrtContext) -> c_int {
    runtime_call(|| {
        let context = out(context, "context")?;
        // SAFETY: it is not NULL, and the program promises that it is writable.
        unsafe { context.write(pointer(table::current_context()?)) };
        Ok(())
    })
}

/// Writes the default stream of the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCtxGetCurrentDefaultStream(stream: *mut aclrtStream) -> c_int {
    runtime_call(|| {
        let stream = out(stream, "stream")?;
        // SAFETY: it is not NULL, and the program promises that it is writable.
        unsafe { stream.write(pointer(table::default_stream()?)) };
        Ok(())
    })
}

/// Writes whether the device has a default context. The flags may be NULL, and are 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetPrimaryCtxState(device: i32, flags: *mut u32, active: *mut i32) -> c_int {
    runtime_call(|| {
        let active = out(active, "active")?;
        check_device(device)?;
        // SAFETY: it is not NULL, and the program promises that it is writable.
        unsafe { active.write(is_primary_open().into()) };
        if !flags.is_null() {
            // SAFETY: as above.
            unsafe { flags.write(0) };
        }
        Ok::<(), Failure>(())
    })
}
