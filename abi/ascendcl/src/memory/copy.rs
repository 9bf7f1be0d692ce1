//! Copies and fills. Host and device have the same memory, so the direction of a copy does not matter.

use std::ffi::{c_int, c_void};

use opscope_border::exported;

use super::rows::{Job, Side, in_order, now};
use crate::border::{Data, Failure, codes, given};
use crate::contexts::aclrtStream;
use crate::last_error::runtime_call;

const HOST_TO_HOST: c_int = 0;
const HOST_TO_DEVICE: c_int = 1;
const DEVICE_TO_HOST: c_int = 2;
/// The last kind of copy that is accepted.
const LAST_KIND: c_int = 5;

/// Copies bytes. The kind has no effect.
#[exported(runtime_call)]
pub fn aclrtMemcpy(
    to: *mut c_void,
    room: usize,
    from: *const c_void,
    count: usize,
    kind: c_int,
) -> Result<(), Failure> {
    let Some(job) = copy(to, room, from, count, kind)? else { return Ok(()) };
    // SAFETY: the program guarantees that both are valid for the count.
    unsafe { now(job) }
}

/// Copies bytes in the order of a stream.
#[exported(runtime_call)]
pub fn aclrtMemcpyAsync(
    to: *mut c_void,
    room: usize,
    from: *const c_void,
    count: usize,
    kind: c_int,
    stream: aclrtStream,
) -> Result<(), Failure> {
    let job = copy(to, room, from, count, kind)?;
    if kind == HOST_TO_HOST {
        let text = "a stream does not copy from the host to the host";
        return Err(Failure::new(codes::RT_FEATURE_NOT_SUPPORT, "EE1003", text));
    }
    let Some(job) = job else { return Ok(()) };
    // SAFETY: the program guarantees that both are valid for the count until the stream is synchronized.
    unsafe { in_order(job, stream) }
}

/// Checks the arguments of a copy. Returns `None` if nothing has to be copied.
fn copy(to: *mut c_void, room: usize, from: *const c_void, count: usize, kind: c_int) -> Result<Option<Job>, Failure> {
    if count == 0 {
        return Ok(None);
    }
    let (to, from) = (given(to, "dst")?, given(from.cast_mut(), "src")?);
    if !(0..=LAST_KIND).contains(&kind) {
        return Err(Failure::wrong_value("kind", kind, "it is not one of aclrtMemcpyKind"));
    }
    check_count(count, room)?;
    if to == from {
        return Ok(None);
    }
    let (to, from) = (Side::new(to, 0), Side::new(from, 0));
    Ok(Some(Job::Copy { to, from, width: count, height: 1 }))
}

fn check_count(count: usize, room: usize) -> Result<(), Failure> {
    if count > room {
        let reason = format!("there is room for {room} bytes");
        return Err(Failure::wrong_value_of(codes::RT_PARAM_INVALID, "count", count, &reason));
    }
    Ok(())
}

/// Fills memory with the low byte of a value.
#[exported(runtime_call)]
pub fn aclrtMemset(address: *mut c_void, room: usize, value: i32, count: usize) -> Result<(), Failure> {
    let Some(job) = fill(address, room, value, count)? else { return Ok(()) };
    // SAFETY: the program guarantees that it is valid for the count.
    unsafe { now(job) }
}

/// Fills memory with the low byte of a value, in the order of a stream.
#[exported(runtime_call)]
pub fn aclrtMemsetAsync(
    address: *mut c_void,
    room: usize,
    value: i32,
    count: usize,
    stream: aclrtStream,
) -> Result<(), Failure> {
    let Some(job) = fill(address, room, value, count)? else { return Ok(()) };
    // SAFETY: the program guarantees that it is valid for the count until the stream is synchronized.
    unsafe { in_order(job, stream) }
}

fn fill(address: *mut c_void, room: usize, value: i32, count: usize) -> Result<Option<Job>, Failure> {
    let to = Data(given(address, "devPtr")?);
    check_count(count, room)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the low byte is meant")]
    let value = value as u8;
    Ok((count > 0).then_some(Job::Fill { to, value, size: count }))
}

/// Copies rows between the host and the device.
#[exported(runtime_call)]
pub fn aclrtMemcpy2d(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: c_int,
) -> Result<(), Failure> {
    let Some(job) = copy_rows((to, to_pitch), (from, from_pitch), width, height, kind)? else { return Ok(()) };
    // SAFETY: the program guarantees that both are valid for the rows.
    unsafe { now(job) }
}

/// Copies rows between the host and the device, in the order of a stream.
#[exported(runtime_call)]
pub fn aclrtMemcpy2dAsync(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: c_int,
    stream: aclrtStream,
) -> Result<(), Failure> {
    let Some(job) = copy_rows((to, to_pitch), (from, from_pitch), width, height, kind)? else { return Ok(()) };
    // SAFETY: the program guarantees that both are valid for the rows until the stream is synchronized.
    unsafe { in_order(job, stream) }
}

/// Checks the arguments of a copy of rows. Returns `None` if nothing has to be copied.
fn copy_rows(
    to: (*mut c_void, usize),
    from: (*const c_void, usize),
    width: usize,
    height: usize,
    kind: c_int,
) -> Result<Option<Job>, Failure> {
    if width == 0 || height == 0 {
        return Ok(None);
    }
    let (start, source) = (given(to.0, "dst")?, given(from.0.cast_mut(), "src")?);
    if kind != HOST_TO_DEVICE && kind != DEVICE_TO_HOST {
        return Err(Failure::wrong_value("kind", kind, "rows are copied from host to device or from device to host"));
    }
    if width > to.1 || width > from.1 {
        let reason = format!("rows are {} and {} bytes apart", to.1, from.1);
        return Err(Failure::wrong_value("width", width, &reason));
    }
    Ok(Some(Job::Copy { to: Side::new(start, to.1), from: Side::new(source, from.1), width, height }))
}
