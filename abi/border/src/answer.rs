use std::panic::{AssertUnwindSafe, catch_unwind};

/// A library's own error: what its functions return where they fail.
pub trait Failure: Sized {
    /// What C gets.
    type Status;

    /// Returns the status of a call that succeeded.
    fn success() -> Self::Status;

    /// Returns the error of a body that panicked with this text.
    fn panicked(text: &str) -> Self;

    /// Keeps what the program can ask for later, such as the text, and returns the status.
    fn report(self) -> Self::Status;

    /// Returns the status of a call that cannot be made now, before a look at its arguments.
    #[inline]
    fn refusal() -> Option<Self::Status> {
        None
    }
}

/// What the body of an exported function returns.
pub trait Answer: Sized {
    /// What C gets.
    type Status;

    /// Runs the body, unless the call cannot be made now. A panic does not cross the border.
    fn answer(body: impl FnOnce() -> Self) -> Self::Status;
}

impl<E: Failure> Answer for Result<(), E> {
    type Status = E::Status;

    #[inline]
    fn answer(body: impl FnOnce() -> Self) -> E::Status {
        E::refusal().unwrap_or_else(|| answer(body))
    }
}

/// Runs the body of an exported function that can be called at any time. A panic does not cross the border.
#[inline]
pub fn answer<E: Failure>(body: impl FnOnce() -> Result<(), E>) -> E::Status {
    match caught(body) {
        Ok(()) => E::success(),
        Err(error) => error.report(),
    }
}

/// Runs the body of an exported function that returns a value: `otherwise` where it fails, or cannot be called now.
#[inline]
pub fn value<T, E: Failure>(otherwise: T, body: impl FnOnce() -> Result<T, E>) -> T {
    if E::refusal().is_some() {
        return otherwise;
    }
    caught(body).unwrap_or_else(|error| {
        error.report();
        otherwise
    })
}

/// Runs a body, and returns a panic as an error.
#[inline]
pub fn caught<T, E: Failure>(body: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(E::panicked(text.unwrap_or("a panic without a text")))
    })
}
