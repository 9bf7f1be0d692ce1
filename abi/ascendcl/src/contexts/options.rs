//! System parameters: they are kept, and change nothing.

use std::ffi::c_int;

use super::table;
use crate::border::{Failure, codes, out};
use crate::last_error::runtime_call;

/// Sets an option of the current context.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtCtxSetSysParamOpt(option: c_int, value: i64) -> c_int {
    runtime_call(|| set(false, option, value))
}

/// Writes an option of the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCtxGetSysParamOpt(option: c_int, value: *mut i64) -> c_int {
    // SAFETY: the program promises that it is writable.
    runtime_call(|| unsafe { get(false, option, value) })
}

/// Sets an option of the process.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtSetSysParamOpt(option: c_int, value: i64) -> c_int {
    runtime_call(|| set(true, option, value))
}

/// Writes an option of the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetSysParamOpt(option: c_int, value: *mut i64) -> c_int {
    // SAFETY: the program promises that it is writable.
    runtime_call(|| unsafe { get(true, option, value) })
}

fn set(of_process: bool, option: c_int, value: i64) -> Result<(), Failure> {
    table::set_option(of_process, check(option)?, value)
}

/// # Safety
/// The value is NULL or writable.
unsafe fn get(of_process: bool, option: c_int, value: *mut i64) -> Result<(), Failure> {
    let value = out(value, "value")?;
    let Some(set) = table::option(of_process, check(option)?)? else {
        let text = format!("option {option} was not set");
        return Err(Failure::new(codes::RT_SYSPARAMOPT_NOT_SET, "EE1003", text));
    };
    // SAFETY: it is not NULL, and the caller promises that it is writable.
    unsafe { value.write(set) };
    Ok(())
}

fn check(option: c_int) -> Result<c_int, Failure> {
    let reason = "options are 0 to 3";
    let wrong = || Failure::wrong_value_of(codes::RT_PARAM_INVALID, "option", option, reason);
    (0..=3).contains(&option).then_some(option).ok_or_else(wrong)
}
