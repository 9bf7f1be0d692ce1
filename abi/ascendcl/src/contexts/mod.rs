//! Contexts, and the streams in them.

mod calls;
mod options;
mod stream_calls;
mod table;

use std::ffi::c_int;
use std::time::Duration;

use crate::border::{Failure, codes};

pub use table::{
    aclrtStream, check_current, is_primary_open, release_primary, retain_primary, stream, synchronize_all, wait_for_all,
};

/// The only device.
pub const DEVICE: i32 = 0;

pub fn check_device(device: i32) -> Result<(), Failure> {
    if device == DEVICE {
        return Ok(());
    }
    Err(Failure::wrong_value_of(codes::RT_INVALID_DEVICEID, "deviceId", device, "the only device is 0"))
}

/// Converts a timeout in milliseconds; -1 means forever, which is `None`. Any other value must be at least `least`.
pub fn limit(milliseconds: c_int, least: c_int) -> Result<Option<Duration>, Failure> {
    match milliseconds {
        -1 => Ok(None),
        _ if milliseconds >= least => Ok(Some(Duration::from_millis(milliseconds.unsigned_abs().into()))),
        _ => {
            let reason = format!("-1 is for ever, otherwise at least {least}");
            Err(Failure::wrong_value_of(codes::RT_PARAM_INVALID, "timeout", milliseconds, &reason))
        }
    }
}
