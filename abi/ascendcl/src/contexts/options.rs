//! System parameters. They are stored, but have no effect.

use std::ffi::c_int;

use opscope_border::{Out, exported};

use super::table;
use crate::border::{Failure, codes};
use crate::last_error::runtime_call;

/// Sets an option of the current context.
#[exported(runtime_call)]
pub fn aclrtCtxSetSysParamOpt(option: c_int, value: i64) -> Result<(), Failure> {
    set(false, option, value)
}

/// Writes an option of the current context.
#[exported(runtime_call)]
pub fn aclrtCtxGetSysParamOpt(option: c_int, value: Out<'_, i64>) -> Result<(), Failure> {
    get(false, option, value)
}

/// Sets an option of the process.
#[exported(runtime_call)]
pub fn aclrtSetSysParamOpt(option: c_int, value: i64) -> Result<(), Failure> {
    set(true, option, value)
}

/// Writes an option of the process.
#[exported(runtime_call)]
pub fn aclrtGetSysParamOpt(option: c_int, value: Out<'_, i64>) -> Result<(), Failure> {
    get(true, option, value)
}

fn set(of_process: bool, option: c_int, value: i64) -> Result<(), Failure> {
    table::set_option(of_process, check(option)?, value)
}

fn get(of_process: bool, option: c_int, value: Out<'_, i64>) -> Result<(), Failure> {
    let value = value.place("value")?;
    let Some(set) = table::option(of_process, check(option)?)? else {
        let text = format!("option {option} was not set");
        return Err(Failure::new(codes::RT_SYSPARAMOPT_NOT_SET, "EE1003", text));
    };
    value.write(set);
    Ok(())
}

fn check(option: c_int) -> Result<c_int, Failure> {
    let reason = "options are 0 to 3";
    let wrong = || Failure::wrong_value_of(codes::RT_PARAM_INVALID, "option", option, reason);
    (0..=3).contains(&option).then_some(option).ok_or_else(wrong)
}
