use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::codes::INTERNAL_ERROR;
use super::{Failure, messages};

/// Runs the body of an exported function. The text of a failure is kept for `aclGetRecentErrMsg`. A panic does not cross the border.
pub fn call(body: impl FnOnce() -> Result<(), Failure>) -> c_int {
    match run(body) {
        Ok(()) => 0,
        Err(failure) => messages::keep(failure),
    }
}

/// Runs the body of an exported function that returns a value: `otherwise` where it fails.
pub fn value<T>(otherwise: T, body: impl FnOnce() -> Result<T, Failure>) -> T {
    run(body).unwrap_or_else(|failure| {
        messages::keep(failure);
        otherwise
    })
}

fn run<T>(body: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(Failure::new(
            INTERNAL_ERROR,
            "EE9999",
            format!("opscope failed: {}", text.unwrap_or("a panic without a text")),
        ))
    })
}
