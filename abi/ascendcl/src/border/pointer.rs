use std::ffi::{CStr, c_char, c_void};

use super::Failure;

/// The pointer that a program gives along with a callback. It is only handed back.
#[derive(Debug, Clone, Copy)]
pub struct Data(pub *mut c_void);

// SAFETY: nothing here reads what it points to. A program knows that its callbacks are called from other threads.
unsafe impl Send for Data {}
// SAFETY: as above.
unsafe impl Sync for Data {}

/// Returns a callback that the program has to give.
pub fn required<F>(callback: Option<F>, name: &str) -> Result<F, Failure> {
    callback.ok_or_else(|| Failure::null(name))
}

/// Checks that there is a place for a result.
pub fn out<T>(to: *mut T, name: &str) -> Result<*mut T, Failure> {
    if to.is_null() { Err(Failure::null(name)) } else { Ok(to) }
}

/// Reads a text that the program passes.
///
/// # Safety
/// It is NULL, or a text that ends with NUL and stays as it is during `'a`.
pub unsafe fn text<'a>(from: *const c_char, name: &str) -> Result<&'a CStr, Failure> {
    if from.is_null() {
        return Err(Failure::null(name));
    }
    // SAFETY: it is not NULL, and the caller promises that it ends with NUL.
    Ok(unsafe { CStr::from_ptr(from) })
}
