//! The size of the device's memory.

use std::ffi::c_int;

use opscope_border::{Out, exported};

use super::registry;
use super::total::device_memory;
use crate::border::Failure;
use crate::contexts::check_current;
use crate::last_error::runtime_call;

/// Writes the size of the device's memory, and how much of it the program has not allocated, in bytes. Both are 0 for
/// memory between devices, and for pages of 1 GiB.
#[exported]
pub fn aclrtGetMemInfo(kind: c_int, free: Out<'_, usize>, total: Out<'_, usize>) -> c_int {
    /// The kinds of memory that exist here: DDR, HBM and both together, with pages of other sizes.
    const HERE: [c_int; 8] = [0, 1, 2, 3, 4, 5, 12, 13];
    const LAST: c_int = 17;
    runtime_call(|| {
        let (free, total) = (free.place("free")?, total.place("total")?);
        if !(0..=LAST).contains(&kind) {
            return Err(Failure::wrong_value("attr", kind, "it is not one of aclrtMemAttr"));
        }
        check_current()?;
        let memory = if HERE.contains(&kind) { device_memory() } else { 0 };
        total.write(memory);
        free.write(memory.saturating_sub(registry::allocated()));
        Ok(())
    })
}

/// Does nothing: the host and the device see the same memory.
#[exported]
pub fn aclrtMemFlush(_address: *mut std::ffi::c_void, _size: usize) -> c_int {
    0
}

/// Does nothing: the host and the device see the same memory.
#[exported]
pub fn aclrtMemInvalidate(_address: *mut std::ffi::c_void, _size: usize) -> c_int {
    0
}
