use std::ffi::{CStr, c_char};

use opscope_border::Out;

use super::{Failure, Status};

/// A place for a result, which the client passes. It may lie anywhere: structures of the interface have no padding.
pub struct Place<'a, T>(opscope_border::Place<'a, T>);

impl<T> Place<'_, T> {
    /// Writes the result.
    pub fn set(self, value: T) {
        self.0.write(value);
    }

    /// Writes only what the structure begins with.
    pub fn set_head<H>(self, head: H) {
        self.0.write_head(head);
    }
}

/// Checks that there is a place for a result.
pub fn out<'a, T>(to: Out<'a, T>, name: &'static str) -> Result<Place<'a, T>, Failure> {
    to.place(name).map(Place).map_err(|_| Failure::null(name))
}

/// Writes text with a NUL at its end.
///
/// # Errors
/// Returns an error if the place is NULL, or smaller than the text.
///
/// # Safety
/// The place is NULL, or valid for writes of so many bytes.
pub unsafe fn text(text: &str, to: *mut c_char, size: u32) -> Result<(), Failure> {
    let needed = text.len() + 1;
    if to.is_null() {
        return Err(Failure::null("the place for the text"));
    }
    if (size as usize) < needed {
        let reason = format!("the text has {needed} bytes with its NUL, and there is room for {size}");
        return Err(Failure::new(Status::BufferTooSmall, reason));
    }
    // SAFETY: the place is not NULL, and the caller promises that it is valid for `size` bytes, which are enough.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), text.len());
        to.add(text.len()).write(0);
    }
    Ok(())
}

/// Returns the bytes that a client passes, to read or to write.
///
/// # Errors
/// Returns an error if there are some, and the pointer is NULL.
///
/// # Safety
/// The pointer is NULL, or valid for so many bytes during `'a`, which nothing else changes meanwhile.
pub unsafe fn bytes<'a>(at: *const u8, size: usize, name: &str) -> Result<&'a [u8], Failure> {
    match (at.is_null(), size) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::null(name)),
        // SAFETY: the pointer is not NULL; the caller promises the rest.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(at, size) }),
    }
}

/// Reads a text that the client passes.
///
/// # Safety
/// The pointer is NULL, or a text that ends with NUL and stays as it is during `'a`.
pub unsafe fn given_text<'a>(from: *const c_char, name: &str) -> Result<&'a CStr, Failure> {
    if from.is_null() {
        return Err(Failure::null(name));
    }
    // SAFETY: it is not NULL, and the caller promises that it ends with NUL.
    Ok(unsafe { CStr::from_ptr(from) })
}
