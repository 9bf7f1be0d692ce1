use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Status;

/// Runs the body of an exported function. A panic does not cross the border: it becomes `Error`.
pub fn call(body: impl FnOnce() -> Result<(), Status>) -> Status {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => Status::Success,
        Ok(Err(status)) => status,
        Err(_) => Status::Error,
    }
}
