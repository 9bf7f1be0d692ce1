use std::ffi::c_void;
use std::ptr;

use opscope_border::exported;
use opscope_sys::Mutex;

use crate::border::{Failure, value};
use crate::objects::Table;

/// The type by which a program knows a [`DataBuffer`].
#[repr(C)]
pub struct aclDataBuffer {
    _private: [u8; 0],
}

/// An address and a size. The memory belongs to the program.
pub struct DataBuffer(Mutex<MemoryRange>);

/// A range of the program's memory.
#[derive(Debug, Clone, Copy)]
pub struct MemoryRange {
    pub address: *mut c_void,
    pub size: usize,
}

// SAFETY: the address alone gives no access. The program knows that other threads read and write its buffers.
unsafe impl Send for MemoryRange {}

/// Every data buffer that exists.
pub static BUFFERS: Table<aclDataBuffer, DataBuffer> = Table::new("data buffer", || BUFFERS.held());

impl DataBuffer {
    /// Returns the address and the size.
    pub fn place(&self) -> MemoryRange {
        *self.0.lock()
    }

    /// Sets the address and the size.
    pub fn set(&self, place: MemoryRange) {
        *self.0.lock() = place;
    }
}

/// Creates a data buffer. It may be empty: NULL and 0.
#[exported]
pub fn aclCreateDataBuffer(data: *mut c_void, size: usize) -> *mut aclDataBuffer {
    value(ptr::null_mut(), || Ok(BUFFERS.insert(DataBuffer(Mutex::new(MemoryRange { address: data, size })))))
}

/// Destroys a data buffer, but not its memory.
#[exported]
pub fn aclDestroyDataBuffer(buffer: *const aclDataBuffer) -> Result<(), Failure> {
    BUFFERS.remove(buffer).map(drop)
}

/// Sets the address and the size of a data buffer.
#[exported]
pub fn aclUpdateDataBuffer(buffer: *mut aclDataBuffer, data: *mut c_void, size: usize) -> Result<(), Failure> {
    BUFFERS.get(buffer)?.set(MemoryRange { address: data, size });
    Ok(())
}

/// Returns the address; NULL if the argument is not a data buffer.
#[exported]
pub fn aclGetDataBufferAddr(buffer: *const aclDataBuffer) -> *mut c_void {
    value(ptr::null_mut(), || Ok(BUFFERS.get(buffer)?.place().address))
}

/// Returns the size; 0 if the argument is not a data buffer.
#[exported]
pub fn aclGetDataBufferSizeV2(buffer: *const aclDataBuffer) -> usize {
    value(0, || Ok(BUFFERS.get(buffer)?.place().size))
}

/// Returns the lower 32 bits of the size; 0 if the argument is not a data buffer.
#[exported]
pub fn aclGetDataBufferSize(buffer: *const aclDataBuffer) -> u32 {
    value(0, || Ok(BUFFERS.get(buffer)?.place().size as u32))
}
