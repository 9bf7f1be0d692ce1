use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use super::Status;
use crate::threads;

/// Whether the tool called `rocprofiler_initialize`, and not `rocprofiler_finalize` since.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// What messages call this library.
const LIBRARY: &str = "librocprofiler64";

/// Sets whether the tool uses the library. Returns whether that changed.
pub fn set_begun(begun: bool) -> bool {
    BEGUN.swap(begun, Ordering::AcqRel) != begun
}

/// Runs the body of an exported function that needs the library to be initialized. A panic does not cross the border.
pub fn call(body: impl FnOnce() -> Result<(), Status>) -> Status {
    if BEGUN.load(Ordering::Acquire) { answer(body) } else { Status::NotInitialized }
}

/// As [`call`], for a function that buffers' callbacks can call at any time: records are delivered after the end, too.
pub fn call_in_callback(body: impl FnOnce() -> Result<(), Status>) -> Status {
    if threads::is_delivering() { answer(body) } else { call(body) }
}

fn answer(body: impl FnOnce() -> Result<(), Status>) -> Status {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => Status::Success,
        Ok(Err(status)) => status,
        Err(_) => Status::Error,
    }
}

/// Returns a callback that the tool has to give.
pub fn required<F>(callback: Option<F>) -> Result<F, Status> {
    callback.ok_or(Status::InvalidArguments)
}

/// Checks that there is a place for a result.
pub fn out<T>(to: *mut T) -> Result<*mut T, Status> {
    if to.is_null() || !to.is_aligned() { Err(Status::InvalidArguments) } else { Ok(to) }
}

/// Writes a result to its place.
///
/// # Safety
/// The place is NULL or writable.
pub unsafe fn write<T>(to: *mut T, value: T) -> Result<(), Status> {
    let to = out(to)?;
    // SAFETY: it is checked, and the caller promises that it is writable.
    unsafe { to.write(value) };
    Ok(())
}

/// Calls a tool's function. An exception that it throws is reported, and the result is `None`.
pub fn call_tool<R>(what: &str, function: impl FnOnce() -> R) -> Option<R> {
    opscope_producer::call_tool(LIBRARY, what, function)
}

/// Writes a line to stderr.
pub fn say(text: impl Display) {
    opscope_producer::report(LIBRARY, text);
}
