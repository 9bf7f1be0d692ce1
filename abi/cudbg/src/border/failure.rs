use opscope_border::ArgumentError;
use opscope_debug::{DebugError, ErrorCode};

use super::{Status, message, rule};

/// The failure of a call: the code that it returns, and the text that `getErrorStringEx` returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub code: Status,
    pub text: String,
}

impl Failure {
    pub fn new(code: Status, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    /// Returns the failure for an argument that is NULL.
    pub fn null(argument: &str) -> Self {
        Self::new(Status::InvalidArgs, format!("{argument} is NULL"))
    }

    /// Checks whether this thread can make a call now. `takes_events` is whether the call takes or acknowledges events.
    pub(super) fn check_call(takes_events: bool) -> Result<(), Self> {
        rule::check(takes_events).map_err(|text| Self::new(Status::RecursiveApiCall, text))
    }

    /// Returns the failure for access to the device's state while the device runs.
    pub fn running() -> Self {
        Self::new(
            Status::RunningDevice,
            "the device runs; suspend it with suspendDevice before its state is read or changed",
        )
    }
}

/// Every function of the table stores the text of its failure, and is refused inside a callback.
impl opscope_border::Failure for Failure {
    type Status = Status;

    fn success() -> Status {
        message::keep("");
        Status::Success
    }

    fn panicked(text: &str) -> Self {
        Self::new(Status::Internal, format!("opscope failed: {text}"))
    }

    fn report(self) -> Status {
        message::keep(&self.text);
        self.code
    }

    fn refusal() -> Option<Status> {
        Self::check_call(false).err().map(Self::report)
    }
}

impl From<ArgumentError> for Failure {
    fn from(error: ArgumentError) -> Self {
        match error {
            ArgumentError::Null { name, .. } => Self::null(name),
            ArgumentError::Misaligned(name) => {
                Self::new(Status::InvalidArgs, format!("{name} is not aligned for its type"))
            }
            other => Self::new(Status::InvalidArgs, format!("an argument cannot be used: {other:?}")),
        }
    }
}

impl From<DebugError> for Failure {
    fn from(error: DebugError) -> Self {
        let code = match error.code() {
            ErrorCode::Connection | ErrorCode::NotAttached => Status::CommunicationFailure,
            ErrorCode::NoSuchTensor => Status::AddressNotInDeviceMem,
            ErrorCode::Replacement | ErrorCode::Tensor => Status::InvalidMemoryAccess,
            ErrorCode::NoSuchOperator => Status::InvalidAddress,
            ErrorCode::NoSuchModel => Status::InvalidModule,
            ErrorCode::NotStopped | ErrorCode::AlreadyContinued => Status::InvalidWarp,
            ErrorCode::Resume => Status::WarpResumeNotPossible,
            ErrorCode::System => Status::OsResources,
            _ => Status::Internal,
        };
        Self::new(code, error.to_string())
    }
}
