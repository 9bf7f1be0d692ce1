//! Callbacks for exceptions of the device. It has none, so they are never called.

use std::ffi::{c_int, c_void};

use opscope_border::exported;

use crate::border::{Failure, codes};
use crate::forks::Shared;
use crate::last_error::runtime_call;

type Callback = extern "C" fn(info: *mut c_void);

/// The registered callbacks, by address.
static REGISTERED: Shared<Vec<usize>> = Shared::new(Vec::new(), || REGISTERED.held(|_| {}));

/// The value that means "unknown".
const NONE: u32 = u32::MAX;

/// Accepts a callback; NULL removes the last one.
#[exported]
pub fn aclrtSetExceptionInfoCallback(_callback: Option<Callback>) -> c_int {
    0
}

/// Registers a callback.
#[exported(runtime_call)]
pub fn aclrtExceptionInfoCallbackRegister(callback: Option<Callback>) -> Result<(), Failure> {
    let callback = address(callback)?;
    let mut registered = REGISTERED.lock();
    if !registered.contains(&callback) {
        registered.push(callback);
    }
    Ok(())
}

/// Removes a registered callback.
#[exported(runtime_call)]
pub fn aclrtExceptionInfoCallbackUnregister(callback: Option<Callback>) -> Result<(), Failure> {
    let callback = address(callback)?;
    let mut registered = REGISTERED.lock();
    let Some(at) = registered.iter().position(|known| *known == callback) else {
        return Err(wrong("it is not registered"));
    };
    registered.remove(at);
    Ok(())
}

fn address(callback: Option<Callback>) -> Result<usize, Failure> {
    callback.map(|callback| callback as usize).ok_or_else(|| wrong("it is NULL"))
}

fn wrong(reason: &str) -> Failure {
    Failure::new(codes::RT_PARAM_INVALID, "EE1003", format!("the callback cannot be used: {reason}"))
}

/// Defines functions that read an exception. No program ever receives one.
macro_rules! of_exception {
    ($($function:ident)+) => {
        $(
            /// Returns 0xFFFFFFFF.
            #[exported]
            pub fn $function(_info: *const c_void) -> u32 {
                NONE
            }
        )+
    };
}

of_exception! {
    aclrtGetTaskIdFromExceptionInfo
    aclrtGetStreamIdFromExceptionInfo
    aclrtGetThreadIdFromExceptionInfo
    aclrtGetDeviceIdFromExceptionInfo
    aclrtGetErrorCodeFromExceptionInfo
}
