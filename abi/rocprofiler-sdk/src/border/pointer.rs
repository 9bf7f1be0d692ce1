use std::ffi::{CStr, c_char};

use super::Status;

/// Returns a callback that the tool has to give.
pub fn required<F>(callback: Option<F>) -> Result<F, Status> {
    callback.ok_or(Status::InvalidArgument)
}

/// Checks that there is a place for a result.
pub fn out<T>(to: *mut T) -> Result<*mut T, Status> {
    if to.is_null() || !to.is_aligned() { Err(Status::InvalidArgument) } else { Ok(to) }
}

/// Writes a name and its length to their places, each of which may be NULL. Without a name it writes NULL and 0.
///
/// # Safety
/// The places are NULL or writable.
pub unsafe fn name_out(found: Option<&'static CStr>, name: *mut *const c_char, length: *mut u64) {
    if !name.is_null() {
        // SAFETY: it is not NULL, and the caller promises that it is writable.
        unsafe { name.write(found.map_or(std::ptr::null(), CStr::as_ptr)) };
    }
    if !length.is_null() {
        // SAFETY: as above.
        unsafe { length.write(found.map_or(0, |name| name.count_bytes() as u64)) };
    }
}

/// Returns the operations that a tool passes; `None` stands for all.
///
/// # Safety
/// `operations` is NULL, or points to `count` readable numbers.
pub unsafe fn operations<'a>(operations: *const i32, count: usize) -> Result<Option<&'a [i32]>, Status> {
    if count == 0 {
        return Ok(None);
    }
    if operations.is_null() || !operations.is_aligned() || count > isize::MAX as usize / size_of::<i32>() {
        return Err(Status::InvalidArgument);
    }
    // SAFETY: it is neither NULL nor misaligned nor too long, and the caller promises the rest.
    Ok(Some(unsafe { std::slice::from_raw_parts(operations, count) }))
}
