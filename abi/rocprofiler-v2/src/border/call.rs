use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope_border::{Answer, ArgumentError, Failure, Out, Place, answer};

use super::Status;
use crate::threads;

/// Whether the tool has called `rocprofiler_initialize`, and not `rocprofiler_finalize` since.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// This library's name in messages.
const LIBRARY: &str = "librocprofiler64";

/// Sets whether the tool uses the library. Returns whether that changed.
pub fn set_begun(begun: bool) -> bool {
    BEGUN.swap(begun, Ordering::AcqRel) != begun
}

/// A tool receives only the status of a failure. Before the library is initialized, all calls fail with the same
/// status.
impl Failure for Status {
    type Status = Self;

    fn success() -> Self {
        Self::Success
    }

    fn panicked(_text: &str) -> Self {
        Self::Error
    }

    fn report(self) -> Self {
        self
    }

    fn refusal() -> Option<Self> {
        (!BEGUN.load(Ordering::Acquire)).then_some(Self::NotInitialized)
    }
}

impl From<ArgumentError> for Status {
    fn from(_: ArgumentError) -> Self {
        Self::InvalidArguments
    }
}

/// Runs the body of an exported function that a buffer's callback can call at any time, even after the library is
/// finalized: records are delivered then, too.
pub fn in_callback(body: impl FnOnce() -> Result<(), Status>) -> Status {
    if threads::is_delivering() { answer(body) } else { Answer::answer(body) }
}

/// Returns a callback that the tool must pass.
pub fn required<F>(callback: Option<F>) -> Result<F, Status> {
    callback.ok_or(Status::InvalidArguments)
}

/// Checks that the tool passed a place for a result.
pub fn out<T>(to: Out<'_, T>) -> Result<Place<'_, T>, Status> {
    Ok(to.aligned_place("a result")?)
}

/// Writes a result to its place.
pub fn write<T>(to: Out<'_, T>, value: T) -> Result<(), Status> {
    out(to).map(|place| place.write(value))
}

/// Calls a tool's function. If it throws a C++ exception, reports that on stderr and returns `None`.
pub fn call_tool<R>(what: &str, function: impl FnOnce() -> R) -> Option<R> {
    opscope_border::call_program(LIBRARY, what, function)
}

/// Writes a line to stderr.
pub fn say(text: impl Display) {
    opscope_border::report(LIBRARY, text);
}
