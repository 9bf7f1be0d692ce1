use super::{Failure, Status};

/// Runs the body of a function that takes or acknowledges events. The callbacks of clients since 13.0 may call such a
/// function.
pub fn for_events(body: impl FnOnce() -> Result<(), Failure>) -> Status {
    match Failure::check_call(true) {
        Ok(()) => opscope_border::answer(body),
        Err(refusal) => opscope_border::Failure::report(refusal),
    }
}

/// Runs the body of `getErrorStringEx`, which does not replace the stored text.
pub fn keeping_the_message(body: impl FnOnce() -> Result<(), Failure>) -> Status {
    match Failure::check_call(false).and_then(|()| opscope_border::caught(body)) {
        Ok(()) => Status::Success,
        Err(failure) => failure.code,
    }
}
