//! Time limits for operators. Operators are never stopped here, so the limits are not stored.

use std::ffi::c_int;

use opscope_border::{Out, exported};

use crate::border::Failure;
use crate::last_error::runtime_call;

/// Accepts a limit in seconds for a stream that waits for an event.
#[exported]
pub fn aclrtSetOpWaitTimeout(_seconds: u32) -> c_int {
    0
}

/// Accepts a limit in seconds for an operator.
#[exported]
pub fn aclrtSetOpExecuteTimeOut(_seconds: u32) -> c_int {
    0
}

/// Accepts a limit in milliseconds for an operator.
#[exported]
pub fn aclrtSetOpExecuteTimeOutWithMs(_milliseconds: u32) -> c_int {
    0
}

/// Accepts a limit in microseconds for an operator, and writes the limit that applies: the same one, or the largest
/// number if it is 0.
#[exported(runtime_call)]
pub fn aclrtSetOpExecuteTimeOutV2(microseconds: u64, actual: Out<'_, u64>) -> Result<(), Failure> {
    let actual = actual.place("actualTimeout")?;
    actual.write(if microseconds == 0 { u64::MAX } else { microseconds });
    Ok(())
}
