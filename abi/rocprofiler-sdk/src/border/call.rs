use std::ffi::{CStr, c_char};

use opscope_border::{ArgumentError, Failure, Out, Place};

use super::Status;

/// A tool receives only the status of a failure.
impl Failure for Status {
    type Status = Self;

    fn success() -> Self {
        Self::Success
    }

    fn panicked(_text: &str) -> Self {
        Self::Error
    }

    fn report(self) -> Self {
        self
    }
}

impl From<ArgumentError> for Status {
    fn from(_: ArgumentError) -> Self {
        Self::InvalidArgument
    }
}

/// Returns a callback that the tool must pass.
pub fn required<F>(callback: Option<F>) -> Result<F, Status> {
    callback.ok_or(Status::InvalidArgument)
}

/// Checks that the tool passed a place for a result.
pub fn out<T>(to: Out<'_, T>) -> Result<Place<'_, T>, Status> {
    Ok(to.aligned_place("a result")?)
}

/// The places for a name and its length. Each may be NULL.
pub type NamePlaces<'a> = (Out<'a, *const c_char>, Out<'a, u64>);

/// Writes a name and its length to their places. Without a name it writes NULL and 0.
pub fn name_out(found: Option<&'static CStr>, (name, length): NamePlaces<'_>) {
    name.write_if_given(found.map_or(std::ptr::null(), CStr::as_ptr));
    length.write_if_given(found.map_or(0, |name| name.count_bytes() as u64));
}
