use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Failure;
use super::opscope_status_t::{self, *};

/// Runs the body of an exported function. A panic does not cross the border: it becomes `OPSCOPE_ERROR_INTERNAL`.
pub fn call(body: impl FnOnce() -> Result<(), Failure>) -> opscope_status_t {
    let outcome = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        let text = text.unwrap_or("a panic without a text");
        Err(Failure::new(OPSCOPE_ERROR_INTERNAL, format!("opscope failed, which is a defect of opscope: {text}")))
    });
    match outcome {
        Ok(()) => OPSCOPE_OK,
        Err(failure) => failure.report(),
    }
}

/// Returns a callback that the caller has to give.
pub fn required<F>(callback: Option<F>) -> Result<F, Failure> {
    callback.ok_or_else(|| Failure::argument("the callback is NULL"))
}
