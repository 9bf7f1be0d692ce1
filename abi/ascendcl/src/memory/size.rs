//! How much memory the device has.

use std::ffi::c_int;

use super::registry;
use super::total::device_memory;
use crate::border::{Failure, out};
use crate::contexts::check_current;
use crate::last_error::runtime_call;

/// Writes how much memory the device has, and how much of it the program has not allocated. Memory between devices, and of pages of
/// 1 GiB, there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetMemInfo(kind: c_int, free: *mut usize, total: *mut usize) -> c_int {
    /// DDR and HBM, with pages of any size, and either of them.
    const HERE: [c_int; 8] = [0, 1, 2, 3, 4, 5, 12, 13];
    const LAST: c_int = 17;
    runtime_call(|| {
        let (free, total) = (out(free, "free")?, out(total, "total")?);
        if !(0..=LAST).contains(&kind) {
            return Err(Failure::wrong_value("attr", kind, "it is not one of aclrtMemAttr"));
        }
        check_current()?;
        let memory = if HERE.contains(&kind) { device_memory() } else { 0 };
        // SAFETY: they are not NULL, and the program promises that they are writable.
        unsafe {
            total.write(memory);
            free.write(memory.saturating_sub(registry::allocated()));
        }
        Ok(())
    })
}

/// Does nothing: the host and the device see the same memory.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtMemFlush(_address: *mut std::ffi::c_void, _size: usize) -> c_int {
    0
}

/// Does nothing: the host and the device see the same memory.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtMemInvalidate(_address: *mut std::ffi::c_void, _size: usize) -> c_int {
    0
}
