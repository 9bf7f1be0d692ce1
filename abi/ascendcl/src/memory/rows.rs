//! The bytes that a copy or a fill affects: one row, or several at equal distances.

use std::ffi::c_void;

use super::registry::{self, Range};
use crate::border::{Data, Failure, codes};
use crate::contexts::{aclrtStream, check_current, stream};
use crate::streams::refuse_in_callback;

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
