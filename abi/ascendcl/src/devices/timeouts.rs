//! How long operators may take. No operator is stopped here, so nothing needs to be kept.

use std::ffi::c_int;

use crate::border::out;
use crate::last_error::runtime_call;

/// Accepts how many seconds a stream may wait for an event.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtSetOpWaitTimeout(_seconds: u32) -> c_int {
    0
}

/// Accepts how many seconds an operator may take.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtSetOpExecuteTimeOut(_seconds: u32) -> c_int {
    0
}

/// Accepts how many milliseconds an operator may take.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtSetOpExecuteTimeOutWithMs(_milliseconds: u32) -> c_int {
    0
}

/// Accepts how many microseconds an operator may take, and writes how many there will be: as many, or the most for 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtSetOpExecuteTimeOutV2(microseconds: u64, actual: *mut u64) -> c_int {
    runtime_call(|| {
        let actual = out(actual, "actualTimeout")?;
        // SAFETY: it is not NULL, and the program promises that it is writable.
        unsafe { actual.write(if microseconds == 0 { u64::MAX } else { microseconds }) };
        Ok(())
    })
}
