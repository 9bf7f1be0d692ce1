//! How long operators may take. No operator is stopped here, so nothing needs to be kept.

use std::ffi::c_int;

use opscope_border::{Out, exported};

use crate::border::Failure;
use crate::last_error::runtime_call;

/// Accepts how many seconds a stream may wait for an event.
#[exported]
pub fn aclrtSetOpWaitTimeout(_seconds: u32) -> c_int {
    0
}

/// Accepts how many seconds an operator may take.
#[exported]
pub fn aclrtSetOpExecuteTimeOut(_seconds: u32) -> c_int {
    0
}

/// Accepts how many milliseconds an operator may take.
#[exported]
pub fn aclrtSetOpExecuteTimeOutWithMs(_milliseconds: u32) -> c_int {
    0
}

/// Accepts how many microseconds an operator may take, and writes how many there will be: as many, or the most for 0.
#[exported(runtime_call)]
pub fn aclrtSetOpExecuteTimeOutV2(microseconds: u64, actual: Out<'_, u64>) -> Result<(), Failure> {
    let actual = actual.place("actualTimeout")?;
    actual.write(if microseconds == 0 { u64::MAX } else { microseconds });
    Ok(())
}
