use std::panic::{AssertUnwindSafe, catch_unwind};

/// A library's error type, which its exported functions return.
pub trait Failure: Sized {
    /// The type that C receives.
    type Status;

    /// Returns the status of a call that succeeded.
    fn success() -> Self::Status;

    /// Returns the error for a body that panicked with this text.
    fn panicked(text: &str) -> Self;

    /// Stores what the program can query later, such as the text, and returns the status.
    fn report(self) -> Self::Status;

    /// Returns a status if the call cannot be made now. It is checked before the arguments are read.
    #[inline]
    fn refusal() -> Option<Self::Status> {
        None
    }
}

/// The result of the body of an exported function.
pub trait Answer: Sized {
    /// The type that C receives.
    type Status;

    /// Runs the body, unless the call cannot be made now. Stops panics at the border.
    fn answer(body: impl FnOnce() -> Self) -> Self::Status;
}

impl<E: Failure> Answer for Result<(), E> {
    type Status = E::Status;

    #[inline]
    fn answer(body: impl FnOnce() -> Self) -> E::Status {
        E::refusal().unwrap_or_else(|| answer(body))
    }
}

/// Runs the body of an exported function that can be called at any time. Stops panics at the border.
#[inline]
pub fn answer<E: Failure>(body: impl FnOnce() -> Result<(), E>) -> E::Status {
    match caught(body) {
        Ok(()) => E::success(),
        Err(error) => error.report(),
    }
}

/// Runs the body of an exported function that returns a value. Returns `otherwise` if the body fails, or if the
/// function cannot be called now.
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

/// Runs a body, and turns a panic into an error.
#[inline]
pub fn caught<T, E: Failure>(body: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(E::panicked(text.unwrap_or("a panic without a text")))
    })
}
