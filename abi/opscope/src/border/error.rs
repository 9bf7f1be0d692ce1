use std::cell::RefCell;
use std::ffi::{CString, c_char};

use opscope::debug::DebugError;
use opscope::debug::server::ServeError;
use opscope::dump::DumpError;
use opscope::model::EngineError;
use opscope::profile::ProfileError;
use opscope::tensor::TensorError;
use opscope::trace::TraceError;
use opscope::{SessionError, debug::ErrorCode};
use opscope_border::{Argument, ArgumentError, exported};

use super::opscope_status_t::{self, *};

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
