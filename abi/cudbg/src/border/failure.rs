use opscope_debug::{DebugError, ErrorCode};

use super::Status;

/// Why a call fails: the code that it answers with, and the text that `getErrorStringEx` returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub code: Status,
    pub text: String,
}

impl Failure {
    pub fn new(code: Status, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    /// A pointer that is NULL.
    pub fn null(argument: &str) -> Self {
        Self::new(Status::InvalidArgs, format!("{argument} is NULL"))
    }

    /// A state that is read while the device runs.
    pub fn running() -> Self {
        Self::new(
            Status::RunningDevice,
            "the device runs; suspend it with suspendDevice before its state is read or changed",
        )
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
