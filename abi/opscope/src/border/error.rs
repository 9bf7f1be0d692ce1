//! Statuses, and the texts of errors.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};

use opscope::SessionError;
use opscope::debug::server::ServeError;
use opscope::debug::{DebugError, ErrorCode};
use opscope::dump::DumpError;
use opscope::model::EngineError;
use opscope::profile::ProfileError;
use opscope::tensor::TensorError;
use opscope::trace::TraceError;
use opscope_border::{Argument, ArgumentError, Counted, exported};

use super::opscope_status_t::*;

/// The result of a call. A call that fails changes nothing, unless its description says otherwise.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum opscope_status_t {
    /// Done.
    OPSCOPE_OK = 0,
    /// There is nothing more: no event is waiting, a batch has no further record. This is not an error.
    OPSCOPE_EMPTY = 1,
    /// A pointer is NULL, a text is not UTF-8, or a number is not one of the constants.
    OPSCOPE_ERROR_INVALID_ARGUMENT = 2,
    /// The `size` of a struct is smaller than that of its first version, or fields that this library does not know are
    /// not zero.
    OPSCOPE_ERROR_INVALID_SIZE = 3,
    /// The handle was freed, or was never returned by this library.
    OPSCOPE_ERROR_INVALID_HANDLE = 4,
    /// The call cannot be made inside a callback, because it would wait for that callback; or another call is using the
    /// object. Or it was made in a signal handler that interrupts another call of its thread: then a record that it
    /// would have emitted is dropped and counted, and `opscope_error_text` has no text for it.
    OPSCOPE_ERROR_BUSY = 5,
    /// The call does not fit the state of the object, such as a context that is not started, or an event that was not
    /// read.
    OPSCOPE_ERROR_INVALID_STATE = 6,
    /// Something that was named does not exist: an operator, a tensor, a breakpoint.
    OPSCOPE_ERROR_NOT_FOUND = 7,
    /// The model cannot be loaded: the file is missing or damaged, or the engine cannot run it.
    OPSCOPE_ERROR_MODEL = 8,
    /// The inputs do not fit the model.
    OPSCOPE_ERROR_INPUT = 9,
    /// The engine failed in a run.
    OPSCOPE_ERROR_RUN_FAILED = 10,
    /// An instrument ended the run.
    OPSCOPE_ERROR_STOPPED = 11,
    /// The time limit of a wait has passed.
    OPSCOPE_ERROR_TIMED_OUT = 12,
    /// The buffer is full, and only the callback that makes this call could free space.
    OPSCOPE_ERROR_FULL = 13,
    /// The call was completed, but requested data is missing. The report says which.
    OPSCOPE_ERROR_INCOMPLETE = 14,
    /// The operating system refused memory, a thread, a file or a socket.
    OPSCOPE_ERROR_SYSTEM = 15,
    /// opscope itself failed. This is a defect of opscope.
    OPSCOPE_ERROR_INTERNAL = 16,
}

/// Returns the meaning of a status in a few words; "unknown status" for any other number. The text is static.
#[exported]
pub fn opscope_status_text(status: i32) -> *const c_char {
    const TEXTS: [&CStr; 17] = [
        c"done",
        c"there is nothing to return",
        c"invalid argument",
        c"invalid size of a struct",
        c"invalid handle",
        c"not allowed inside of a callback",
        c"invalid state",
        c"not found",
        c"the model cannot be loaded",
        c"the inputs do not fit the model",
        c"the run failed",
        c"an instrument ended the run",
        c"timed out",
        c"full",
        c"done, but data is missing",
        c"the operating system refused a resource",
        c"opscope failed",
    ];
    const _: () = assert!(TEXTS.len() == opscope_status_t::OPSCOPE_ERROR_INTERNAL as usize + 1);
    let text = usize::try_from(status).ok().and_then(|status| TEXTS.get(status).copied());
    text.unwrap_or(c"unknown status").as_ptr()
}

/// How many elements an array from a caller may have. A larger count is refused as garbage.
const MOST_ELEMENTS: usize = 1 << 20;

/// Returns an array that the caller passes.
pub fn slice<'a, T>(items: Counted<'a, T>, name: &'static str) -> Result<&'a [T], Failure> {
    Ok(items.at_most(MOST_ELEMENTS, name)?)
}

/// Checks that there is memory for a copy of this many bytes.
pub fn check_copy(count: usize, name: &str) -> Result<(), Failure> {
    let room = Vec::<u8>::new().try_reserve_exact(count);
    room.map_err(|_| Failure::argument(format!("there is no memory for a copy of {name}, which has {count} bytes")))
}

/// Returns the value of a C constant. `values` has all values in the order of their numbers, from 0.
pub fn constant<T: Clone>(number: u32, name: &str, values: &[T]) -> Result<T, Failure> {
    values.get(number as usize).cloned().ok_or_else(|| {
        Failure::argument(format!("{number} is not a value of {name}; its numbers are 0 to {}", values.len() - 1))
    })
}

/// The reason why a call failed: the status that it returns, and a text for people.
#[derive(Debug)]
pub struct Failure {
    /// The status.
    pub status: opscope_status_t,
    /// What was wrong, and what would be right.
    pub text: String,
}

thread_local! {
    static TEXT: RefCell<CString> = RefCell::default();
}

/// Returns what was wrong with this thread's last call that failed, and what would be right; an empty text before the
/// first failure. The text is valid until this thread's next failing call.
#[exported]
pub fn opscope_error_text() -> *const c_char {
    TEXT.try_with(|text| text.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

impl Failure {
    pub fn new(status: opscope_status_t, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    pub fn argument(text: impl Into<String>) -> Self {
        Self::new(OPSCOPE_ERROR_INVALID_ARGUMENT, text)
    }

    /// Stores the text for `opscope_error_text`, and returns the status.
    pub(super) fn keep(self) -> opscope_status_t {
        let text = CString::new(self.text.replace('\0', "\u{fffd}")).unwrap_or_default();
        // A thread that is being torn down can no longer store the text.
        let _ = TEXT.try_with(|place| place.replace(text));
        self.status
    }
}

impl From<ArgumentError> for Failure {
    fn from(error: ArgumentError) -> Self {
        let (status, text) = match error {
            ArgumentError::Null { what, name } => (OPSCOPE_ERROR_INVALID_ARGUMENT, null(what, name)),
            ArgumentError::Misaligned(name) => {
                (OPSCOPE_ERROR_INVALID_ARGUMENT, format!("{name} is not aligned for its type"))
            }
            ArgumentError::TooLong(name) => (OPSCOPE_ERROR_INVALID_ARGUMENT, format!("{name} is too long")),
            ArgumentError::TooMany { name, count, most } => {
                (OPSCOPE_ERROR_INVALID_ARGUMENT, format!("{name} has {count} elements; there are at most {most}"))
            }
            ArgumentError::TooManyStructs { name, count, most } => {
                let text = format!("an array of {count} {name} is too long; there are at most {most}");
                (OPSCOPE_ERROR_INVALID_ARGUMENT, text)
            }
            ArgumentError::NotUtf8 { name, text } => {
                (OPSCOPE_ERROR_INVALID_ARGUMENT, format!("{name} is not UTF-8: {text:?}"))
            }
            ArgumentError::WrongSize { name, size, least } => {
                let text =
                    format!("the size of {name} is {size}; set its field to sizeof({name}), which is at least {least}");
                (OPSCOPE_ERROR_INVALID_SIZE, text)
            }
            ArgumentError::UnequalSize { name, index, size, first } => {
                let text = format!("{name} [{index}] has size {size}, and the first of the array has {first}");
                (OPSCOPE_ERROR_INVALID_SIZE, text)
            }
            ArgumentError::UnknownFields(name) => {
                let text = format!(
                    "{name} has fields that this library does not know; leave them zero, or use a newer library (this is {})",
                    env!("CARGO_PKG_VERSION")
                );
                (OPSCOPE_ERROR_INVALID_SIZE, text)
            }
        };
        Self::new(status, text)
    }
}

fn null(what: Argument, name: &str) -> String {
    match what {
        Argument::Text | Argument::Value => format!("{name} is NULL"),
        Argument::Place | Argument::Struct => format!("the pointer to {name} is NULL"),
        Argument::Callback => "the callback is NULL".to_owned(),
        Argument::Items(count) => format!("{name} is NULL, and its count is {count}"),
    }
}

fn of(status: opscope_status_t, error: &dyn std::error::Error) -> Failure {
    Failure::new(status, error.to_string())
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Engine(error) => error.into(),
            error => of(OPSCOPE_ERROR_MODEL, &error),
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let status = match &error {
            EngineError::UnsupportedOperator { .. } | EngineError::Load { .. } | EngineError::OverBudget { .. } => {
                OPSCOPE_ERROR_MODEL
            }
            EngineError::InputCount { .. } | EngineError::InputType { .. } | EngineError::InputShape { .. } => {
                OPSCOPE_ERROR_INPUT
            }
            EngineError::Stopped(_) => OPSCOPE_ERROR_STOPPED,
            _ => OPSCOPE_ERROR_RUN_FAILED,
        };
        of(status, &error)
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        let status = match &error {
            TraceError::Busy(_) => OPSCOPE_ERROR_BUSY,
            TraceError::FullInCallback(_) => OPSCOPE_ERROR_FULL,
            TraceError::TimedOut(_) => OPSCOPE_ERROR_TIMED_OUT,
            TraceError::BufferDestroyed(_) | TraceError::ContextDestroyed(_) => OPSCOPE_ERROR_INVALID_HANDLE,
            TraceError::KindConfigured { .. }
            | TraceError::BufferOfAnotherContext { .. }
            | TraceError::ContextNotStarted(_) => OPSCOPE_ERROR_INVALID_STATE,
            TraceError::System { .. } | TraceError::File { .. } => OPSCOPE_ERROR_SYSTEM,
            _ => OPSCOPE_ERROR_INVALID_ARGUMENT,
        };
        of(status, &error)
    }
}

impl From<DumpError> for Failure {
    fn from(error: DumpError) -> Self {
        let status = match &error {
            DumpError::FromWithin => OPSCOPE_ERROR_BUSY,
            DumpError::NoSuchOperator { .. } | DumpError::NothingSelected { .. } | DumpError::NoSuchRun { .. } => {
                OPSCOPE_ERROR_NOT_FOUND
            }
            DumpError::Io { .. }
            | DumpError::File { .. }
            | DumpError::Write { .. }
            | DumpError::Store { .. }
            | DumpError::Stored(_)
            | DumpError::Target(_)
            | DumpError::Thread(_)
            | DumpError::Constants(_) => OPSCOPE_ERROR_SYSTEM,
            DumpError::Weight(_) => OPSCOPE_ERROR_MODEL,
            _ => OPSCOPE_ERROR_INVALID_ARGUMENT,
        };
        of(status, &error)
    }
}

impl From<DebugError> for Failure {
    fn from(error: DebugError) -> Self {
        let status = match error.code() {
            ErrorCode::RecursiveCall => OPSCOPE_ERROR_BUSY,
            ErrorCode::AlreadyAttached
            | ErrorCode::NotAttached
            | ErrorCode::NotStopped
            | ErrorCode::AlreadyContinued
            | ErrorCode::NotRead
            | ErrorCode::TooManyBreakpoints
            | ErrorCode::Resume => OPSCOPE_ERROR_INVALID_STATE,
            ErrorCode::NoSuchBreakpoint
            | ErrorCode::NoSuchOperator
            | ErrorCode::NoSuchModel
            | ErrorCode::NoSuchTensor => OPSCOPE_ERROR_NOT_FOUND,
            ErrorCode::System | ErrorCode::Connection => OPSCOPE_ERROR_SYSTEM,
            ErrorCode::Internal => OPSCOPE_ERROR_INTERNAL,
            _ => OPSCOPE_ERROR_INVALID_ARGUMENT,
        };
        of(status, &error)
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        of(OPSCOPE_ERROR_SYSTEM, &error)
    }
}

impl From<ProfileError> for Failure {
    fn from(error: ProfileError) -> Self {
        let status = match &error {
            ProfileError::SwitchSyntax(_) | ProfileError::UnknownSwitch { .. } | ProfileError::SwitchValue { .. } => {
                OPSCOPE_ERROR_INVALID_ARGUMENT
            }
            _ => OPSCOPE_ERROR_SYSTEM,
        };
        of(status, &error)
    }
}

impl From<TensorError> for Failure {
    fn from(error: TensorError) -> Self {
        of(OPSCOPE_ERROR_INVALID_ARGUMENT, &error)
    }
}
