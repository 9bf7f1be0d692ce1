//! Memory: tensors of stopped runs, and weights.

use std::ffi::c_void;
use std::sync::Arc;

use super::place::{device, lane, multiprocessor};
use crate::border::{Failure, Status, bytes, call};
use crate::session::{Session, current};

/// # Safety
/// `buffer` is NULL, or valid for writes of `size` bytes.
pub unsafe extern "C" fn read_global_memory(address: u64, buffer: *mut c_void, size: u32) -> Status {
    // SAFETY: the caller promises it.
    call(|| unsafe { read(&*current()?, address, buffer, size, None) })
}

/// # Safety
/// `buffer` is NULL, or valid for reads of `size` bytes.
pub unsafe extern "C" fn write_global_memory(address: u64, buffer: *const c_void, size: u32) -> Status {
    // SAFETY: the caller promises it.
    call(|| unsafe { write(&*current()?, address, buffer, size, None) })
}

/// Of a device. Constant memory is not apart from the other.
///
/// # Safety
/// `buffer` is NULL, or valid for writes of `size` bytes.
pub unsafe extern "C" fn read_device_memory(dev: u32, address: u64, buffer: *mut c_void, size: u32) -> Status {
    // SAFETY: the caller promises it.
    call(|| unsafe { read(&*device(dev)?, address, buffer, size, None) })
}

/// # Safety
/// `buffer` is NULL, or valid for reads of `size` bytes.
pub unsafe extern "C" fn write_device_memory(dev: u32, address: u64, buffer: *const c_void, size: u32) -> Status {
    // SAFETY: the caller promises it.
    call(|| unsafe { write(&*device(dev)?, address, buffer, size, None) })
}

/// As a lane sees it: of its run, if it is stopped.
///
/// # Safety
/// `buffer` is NULL, or valid for writes of `size` bytes.
pub unsafe extern "C" fn read_generic_memory(
    dev: u32,
    sm: u32,
    wp: u32,
    ln: u32,
    address: u64,
    buffer: *mut c_void,
    size: u32,
) -> Status {
    call(|| {
        let (session, warp) = of_lane(dev, sm, wp, ln)?;
        // SAFETY: the caller promises it.
        unsafe { read(&session, address, buffer, size, warp) }
    })
}

/// # Safety
/// `buffer` is NULL, or valid for reads of `size` bytes.
pub unsafe extern "C" fn write_generic_memory(
    dev: u32,
    sm: u32,
    wp: u32,
    ln: u32,
    address: u64,
    buffer: *const c_void,
    size: u32,
) -> Status {
    call(|| {
        let (session, warp) = of_lane(dev, sm, wp, ln)?;
        // SAFETY: the caller promises it.
        unsafe { write(&session, address, buffer, size, warp) }
    })
}

/// Returns the session and the warp of a lane, if a run is stopped there. Otherwise the address alone decides.
fn of_lane(dev: u32, sm: u32, wp: u32, ln: u32) -> Result<(Arc<Session>, Option<u32>), Failure> {
    let session = device(dev)?;
    multiprocessor(&session, sm)?;
    lane(&session, ln)?;
    let is_stopped = session.state().stops().any(|(_, stop)| stop.warp == Some(wp));
    Ok((session, is_stopped.then_some(wp)))
}

/// # Safety
/// `buffer` is NULL, or valid for writes of `size` bytes.
unsafe fn read(
    session: &Session,
    address: u64,
    buffer: *mut c_void,
    size: u32,
    warp: Option<u32>,
) -> Result<(), Failure> {
    if buffer.is_null() && size > 0 {
        return Err(Failure::null("the buffer"));
    }
    let read = session.read_memory(address, size as usize, warp)?;
    // SAFETY: the caller promises so many bytes.
    unsafe { std::ptr::copy_nonoverlapping(read.as_ptr(), buffer.cast(), read.len()) };
    Ok(())
}

/// # Safety
/// `buffer` is NULL, or valid for reads of `size` bytes.
unsafe fn write(
    session: &Session,
    address: u64,
    buffer: *const c_void,
    size: u32,
    warp: Option<u32>,
) -> Result<(), Failure> {
    // SAFETY: the caller promises it.
    let data = unsafe { bytes(buffer.cast(), size as usize, "the buffer") }?;
    session.write_memory(address, data, warp)
}
