use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Failure, Status, message, rule};

/// Runs the body of a function of the table. Inside of a callback it is refused. The text of a failure is kept for
/// `getErrorStringEx`. A panic does not cross the border.
pub fn call(body: impl FnOnce() -> Result<(), Failure>) -> Status {
    answer(false, body)
}

/// The same for a function that takes or acknowledges events: callbacks of clients since 13.0 may call it.
pub fn call_for_events(body: impl FnOnce() -> Result<(), Failure>) -> Status {
    answer(true, body)
}

/// The same for `getErrorStringEx`, which leaves the text as it is.
pub fn call_keeping_the_message(body: impl FnOnce() -> Result<(), Failure>) -> Status {
    match run(false, body) {
        Ok(()) => Status::Success,
        Err(failure) => failure.code,
    }
}

fn answer(takes_events: bool, body: impl FnOnce() -> Result<(), Failure>) -> Status {
    let (code, text) = match run(takes_events, body) {
        Ok(()) => (Status::Success, String::new()),
        Err(failure) => (failure.code, failure.text),
    };
    message::keep(&text);
    code
}

fn run(takes_events: bool, body: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    rule::check(takes_events)?;
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(Failure::new(Status::Internal, format!("opscope failed: {}", text.unwrap_or("a panic without a text"))))
    })
}
