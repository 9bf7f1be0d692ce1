//! The shell of every exported function: it returns a status, stops panics, and checks pointers. Also calls of a tool's
//! functions.

use std::ffi::{CStr, c_char};
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope_border::{Answer, ArgumentError, Failure, Out, Place, answer, exported};

use crate::threads;

macro_rules! statuses {
    ($($status:ident = $number:literal, $text:literal;)+) => {
        /// What a call returns: `rocprofiler_status_t`.
        #[repr(C)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(dead_code, reason = "the interface has all of them")]
        pub enum Status {
            $(#[doc = concat!($text, ".")] $status = $number,)+
        }

        /// The texts of the statuses, by their numbers without the sign. Each ends with a line feed, because tools
        /// expect that.
        const TEXTS: &[&str] = &[$(concat!($text, "\n\0"),)+];
    };
}

statuses! {
    Success = 0, "Unknown error";
    Error = -1, "Unknown error";
    AlreadyInitialized = -2, "The library is initialized already";
    NotInitialized = -3, "The library is not initialized; call rocprofiler_initialize first";
    SessionMissingBuffer = -4, "The session has no buffer for a filter; create one and set it";
    TimestampNotApplicable = -5, "There is no timestamp";
    AgentNotFound = -6, "No agent has this id";
    AgentInformationMissing = -7, "The agent has no such information";
    QueueNotFound = -8, "No queue has this id";
    QueueInformationMissing = -9, "The queue has no such information";
    KernelNotFound = -10, "No kernel has this id";
    KernelInformationMissing = -11, "The kernel has no such information";
    CounterNotFound = -12, "No counter has this id";
    CounterInformationMissing = -13, "The counter has no such information";
    TracerApiDataNotFound = -14, "The call has no data";
    TracerApiDataInformationMissing = -15, "The data of the call has no such information";
    IncorrectDomain = -16, "The record is of another domain";
    SessionNotFound = -17, "No session has this id";
    CorruptedSessionBuffer = -18, "The session's buffer is damaged; what precedes the damage was delivered";
    RecordCorrupted = -19, "The record is damaged, so the next one cannot be found";
    IncorrectReplayMode = -20, "There is no such replay mode";
    SessionMissingFilter = -21, "The session has no filter";
    IncorrectSize = -22, "The size is not that of the structure";
    IncorrectFlushInterval = -23, "The flush interval is out of range";
    SessionFilterDataMismatch = -24, "The data or the property does not belong to this kind of filter";
    FilterDataCorrupted = -25, "The filter's data is damaged";
    CorruptedLabelData = -26, "The label is damaged";
    RangeStackIsEmpty = -27, "No range is open";
    PassNotStarted = -28, "The pass is not started";
    HasActiveSession = -29, "A session is active; terminate it first";
    SessionNotActive = -30, "The session is not active";
    FilterNotFound = -31, "No filter of the session has this id";
    BufferNotFound = -32, "No buffer of the session has this id";
    FilterNotSupported = -33, "This kind of filter is not supported here";
    InvalidArguments = -34, "An argument is NULL or out of range";
    InvalidOperationId = -35, "The domain has no such operation";
    InvalidDomainId = -36, "There is no such domain";
    NotImplemented = -37, "This is not implemented";
    MismatchedExternalCorrelationId = -38, "The external correlation id is another one";
}

/// Returns the text of a status. For any other number, returns the text of an unknown error. Never NULL.
#[exported]
pub fn rocprofiler_error_str(status: i32) -> *const c_char {
    let text = usize::try_from(status.unsigned_abs()).ok().filter(|_| status <= 0).and_then(|index| TEXTS.get(index));
    let text = CStr::from_bytes_with_nul(text.unwrap_or(&TEXTS[0]).as_bytes());
    text.unwrap_or(c"Unknown error\n").as_ptr()
}

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
