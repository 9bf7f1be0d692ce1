use std::ffi::c_int;

use super::list::{create, find};
use crate::border::{Status, call, out};
use crate::layout::Handle;
use crate::phase::{DONE, NOT_YET, check_configurable, finalization};

/// Makes a context without services. Its id has to be 0 before, and stays 0 if the call fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_create_context(context: *mut Handle) -> Status {
    call(|| {
        let context = out(context)?;
        // SAFETY: it is not NULL, and the tool promises that it is readable.
        if unsafe { *context } != Handle::default() {
            return Err(Status::ContextIdNotZero);
        }
        check_configurable()?;
        // SAFETY: it is not NULL, and the tool promises that it is writable.
        unsafe { context.write(create().id) };
        Ok(())
    })
}

/// Starts a context. It does nothing if that is started.
#[unsafe(no_mangle)]
pub extern "C" fn rocprofiler_start_context(context: Handle) -> Status {
    call(|| {
        let context = find(context)?;
        if finalization() != NOT_YET {
            return Err(Status::ConfigurationLocked);
        }
        context.start();
        Ok(())
    })
}

/// Stops a context that is started.
#[unsafe(no_mangle)]
pub extern "C" fn rocprofiler_stop_context(context: Handle) -> Status {
    call(|| {
        let context = find(context)?;
        if context.stop() || finalization() == DONE { Ok(()) } else { Err(Status::ContextNotFound) }
    })
}

/// Writes 1 if a context is started, else 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_context_is_active(context: Handle, status: *mut c_int) -> Status {
    // SAFETY: as the tool promises.
    call(|| unsafe { answer(status, context, |context| context.is_started()) })
}

/// Writes 1 if there is such a context, else 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_context_is_valid(context: Handle, status: *mut c_int) -> Status {
    // SAFETY: as the tool promises.
    call(|| unsafe { answer(status, context, |_| true) })
}

unsafe fn answer(
    status: *mut c_int,
    context: Handle,
    question: impl Fn(&super::Context) -> bool,
) -> Result<(), Status> {
    let status = out(status)?;
    // SAFETY: it is not NULL, and the caller passes the tool's promise that it is writable.
    unsafe { status.write(0) };
    let found = find(context)?;
    // SAFETY: as above.
    unsafe { status.write(question(found).into()) };
    Ok(())
}
