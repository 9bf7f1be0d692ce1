use std::ffi::c_void;
use std::slice::from_raw_parts;

use super::Failure;

/// The pointer that a program gives along with a callback. opscope only hands it back.
#[derive(Debug, Clone, Copy)]
pub struct UserData(pub *mut c_void);

// SAFETY: opscope never reads what it points to. The header says that the callback may be called from another thread.
unsafe impl Send for UserData {}
// SAFETY: as above.
unsafe impl Sync for UserData {}

impl UserData {
    /// Returns the pointer.
    pub fn pointer(self) -> *mut c_void {
        self.0
    }
}

/// Returns an array that the caller passes.
///
/// # Safety
/// `from` points to `count` readable elements that stay as they are during `'a`, or `count` is 0.
pub unsafe fn slice<'a, T>(from: *const T, count: usize, name: &str) -> Result<&'a [T], Failure> {
    match count {
        0 => Ok(&[]),
        _ if from.is_null() => Err(Failure::argument(format!("{name} is NULL, and its count is {count}"))),
        _ if !from.is_aligned() => Err(Failure::argument(format!("{name} is not aligned for its type"))),
        _ if count > isize::MAX as usize / size_of::<T>() => Err(Failure::argument(format!("{name} is too long"))),
        // SAFETY: it is neither NULL nor misaligned nor too long, and the caller promises the rest.
        _ => Ok(unsafe { from_raw_parts(from, count) }),
    }
}

/// Checks that there is a place for a result, before anything is done.
pub fn out<T>(to: *mut T, name: &str) -> Result<*mut T, Failure> {
    if to.is_null() { Err(Failure::argument(format!("the pointer to {name} is NULL"))) } else { Ok(to) }
}

/// Writes a result to its place.
///
/// # Safety
/// `to` is NULL or writable.
pub unsafe fn write_out<T>(to: *mut T, value: T, name: &str) -> Result<(), Failure> {
    let to = out(to, name)?;
    // SAFETY: it is not NULL, and the caller promises that it is writable.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Returns the value that a constant of C stands for: `values` has them in the order of their numbers, from 0.
pub fn constant<T: Clone>(number: u32, name: &str, values: &[T]) -> Result<T, Failure> {
    values
        .get(number as usize)
        .cloned()
        .ok_or_else(|| Failure::argument(format!("{number} is no {name}; its numbers are 0 to {}", values.len() - 1)))
}
