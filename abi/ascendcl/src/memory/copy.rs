//! Copies and fills of one row, or of several at equal distances. Host and device have the same memory, so the
//! direction of a copy does not matter.

use std::ffi::{c_int, c_void};

use opscope_border::exported;

use super::registry;
use super::registry::Range;
use crate::border::{Data, Failure, codes, given};
use crate::contexts::{aclrtStream, check_current, stream};
use crate::streams::refuse_in_callback;
use crate::thread_context::runtime_call;

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

/// A side of a copy: the address of its first row, and the distance in bytes from one row to the next.
#[derive(Clone, Copy)]
pub struct Side {
    pub start: Data,
    pub pitch: usize,
}

/// A copy or a fill.
#[derive(Clone, Copy)]
pub enum Job {
    Copy { to: Side, from: Side, width: usize, height: usize },
    Fill { to: Data, value: u8, size: usize },
}

impl Side {
    pub fn new(start: *const c_void, pitch: usize) -> Self {
        Self { start: Data(start.cast_mut()), pitch }
    }

    /// Returns the range from the first row to the end of the last.
    fn range(self, name: &'static str, width: usize, height: usize) -> Result<Range, Failure> {
        let size = self.pitch.checked_mul(height.saturating_sub(1)).and_then(|rows| rows.checked_add(width));
        let start = self.start.0.expose_provenance();
        let size = size.filter(|size| start.checked_add(*size).is_some());
        let too_large = || Failure::wrong_value_of(codes::RT_PARAM_INVALID, "count", width, "no memory is so large");
        let was_allocated = registry::room_at(self.start.0).is_some();
        Ok(Range { name, start, size: size.ok_or_else(too_large)?, was_allocated })
    }
}

impl Job {
    fn ranges(self) -> Result<[Range; 2], Failure> {
        match self {
            Self::Copy { to, from, width, height } => {
                Ok([to.range("dst", width, height)?, from.range("src", width, height)?])
            }
            Self::Fill { to, size, .. } => {
                let range = Side { start: to, pitch: 0 }.range("devPtr", size, 1)?;
                Ok([range, range])
            }
        }
    }

    /// # Safety
    /// The sides are readable and writable, respectively.
    unsafe fn run(self) {
        match self {
            Self::Copy { to, from, width, height } => {
                for row in 0..height {
                    // SAFETY: the row is in the ranges that the caller guarantees. They may overlap.
                    unsafe {
                        let (to, from) = (to.start.0.byte_add(row * to.pitch), from.start.0.byte_add(row * from.pitch));
                        std::ptr::copy(from.cast::<u8>(), to.cast::<u8>(), width);
                    }
                }
            }
            // SAFETY: the caller guarantees that it is writable.
            Self::Fill { to, value, size } => unsafe { to.0.cast::<u8>().write_bytes(value, size) },
        }
    }
}

/// Does the job immediately.
///
/// # Safety
/// The sides are readable and writable, respectively, or are in allocations.
pub unsafe fn now(job: Job) -> Result<(), Failure> {
    check_current()?;
    // SAFETY: allocations are checked to be large enough and stay alive meanwhile; the caller guarantees the rest.
    registry::with(job.ranges()?, || unsafe { job.run() })
}

/// Does the job in the order of a stream. If the job uses memory that was not allocated here, waits until it is done,
/// because the program may free such memory once this returns.
///
/// # Safety
/// The same as for `now`.
pub unsafe fn in_order(job: Job, on: aclrtStream) -> Result<(), Failure> {
    let stream = stream(on)?;
    let ranges = job.ranges()?;
    registry::with(ranges, || ())?;
    let is_pinned = ranges.iter().all(|range| range.was_allocated);
    if !is_pinned {
        refuse_in_callback()?;
    }
    // SAFETY: as in `now`. If an allocation was freed in between, the check fails.
    stream.run(move || registry::with(ranges, || unsafe { job.run() }))?;
    if is_pinned { Ok(()) } else { stream.wait(None) }
}
