//! Errors of the calls of a debugger. Messages contain their causes, so no error has a `source`.

mod code;

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use opscope_tensor::TensorError;
use serde::{Deserialize, Serialize};

use crate::breakpoint::{BreakpointError, Target, TargetError};
use crate::event::{BreakpointId, Sequence};
pub use code::ErrorCode;

/// Why a call of a debugger was refused. A refused call has changed nothing.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum DebugError {
    /// Another debugger is attached.
    #[error("'{by}' is attached already; a program has one debugger at a time: let that one detach first")]
    AlreadyAttached {
        /// The other debugger's name.
        by: String,
    },
    /// This debugger is not attached, or no longer attached.
    #[error("the debugger is not attached")]
    NotAttached,
    /// This debugger belongs to the process that this one was forked from.
    #[error("the debugger is not attached: it is another process's debugger; make one in the process that was forked")]
    OtherProcess,
    /// A call from inside of the notification callback, or a nested call of
    /// [`Attachment::look`](crate::Attachment::look).
    #[error(
        "this call cannot be made from inside of the notification callback, nor of a look at a stopped run; make it from \
         another thread"
    )]
    RecursiveCall,
    /// No thread waits at this event.
    #[error("no thread waits at event {0}: it was acknowledged before, was never raised, or stopped nothing")]
    NotStopped(Sequence),
    /// The thread of this event has continued already.
    #[error("the thread of event {0} has continued already: {1}")]
    AlreadyContinued(Sequence, Continued),
    /// The event was not read.
    #[error("event {0} was not read; read it from its queue before it is acknowledged")]
    NotRead(Sequence),
    /// No breakpoint has this number.
    #[error("there is no breakpoint {0}")]
    NoSuchBreakpoint(BreakpointId),
    /// There is already the maximum number of breakpoints.
    #[error("there are {0} breakpoints, which is as many as there can be; remove some first")]
    TooManyBreakpoints(usize),
    /// The text of a target cannot be parsed.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// No loaded model has such an operator.
    #[error("no operator is called '{target}'{}", .nearest.as_ref().map(|name| format!("; there is '{name}'")).unwrap_or_default())]
    NoSuchOperator {
        /// The target.
        target: Target,
        /// A similar name.
        nearest: Option<String>,
    },
    /// A breakpoint contradicts itself, or its condition cannot be parsed.
    #[error(transparent)]
    Breakpoint(#[from] BreakpointError),
    /// The tensor does not exist here.
    #[error("there is no {reference} here: {reason}")]
    NoSuchTensor {
        /// The reference in the request.
        reference: String,
        /// Why it does not exist.
        reason: String,
    },
    /// The tensor cannot be replaced by the given one.
    #[error("{reference} cannot be replaced: {reason}")]
    Replacement {
        /// The tensor.
        reference: String,
        /// What does not fit.
        reason: String,
    },
    /// The run cannot continue in this way.
    #[error("the run cannot continue like this: {0}")]
    Resume(String),
    /// An expression of the program's language cannot be evaluated.
    #[error(transparent)]
    Evaluation(#[from] EvaluationError),
    /// The data of a tensor cannot be read, or does not fit its type and shape.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// The system has no file descriptor or thread left.
    #[error("the system gives no descriptor or thread for the notification: {0}")]
    System(Arc<io::Error>),
    /// The connection to the program failed.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// The program refused a request.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// A refusal, which a program sends instead of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The kind of error.
    pub code: ErrorCode,
    /// A message for people, in one sentence.
    pub message: String,
}

/// Why an expression of a program's language has no value, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EvaluationError(pub String);

impl Default for EvaluationError {
    /// The program evaluates nothing.
    fn default() -> Self {
        Self("this program evaluates no expressions".to_owned())
    }
}

/// Why a stopped thread has continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Continued {
    /// Its event was acknowledged.
    #[error("it was acknowledged before")]
    Acknowledged,
    /// Its lease expired.
    #[error("its lease expired")]
    LeaseExpired,
    /// It was stopped for as long as the program allows.
    #[error("the program lets no run stop for longer")]
    StoppedTooLong,
    /// Its debugger detached, closed the connection or died.
    #[error("the debugger is gone")]
    DebuggerGone,
    /// It continued before it carried out the request.
    #[error("it continued before it was looked at")]
    DuringLook,
}

impl DebugError {
    pub(crate) fn system(error: io::Error) -> Self {
        DebugError::System(Arc::new(error))
    }

    /// Returns the code of this error in the debug protocol.
    pub fn code(&self) -> ErrorCode {
        match self {
            DebugError::AlreadyAttached { .. } => ErrorCode::AlreadyAttached,
            DebugError::NotAttached | DebugError::OtherProcess => ErrorCode::NotAttached,
            DebugError::RecursiveCall => ErrorCode::RecursiveCall,
            DebugError::NotStopped(_) => ErrorCode::NotStopped,
            DebugError::AlreadyContinued(..) => ErrorCode::AlreadyContinued,
            DebugError::NotRead(_) => ErrorCode::NotRead,
            DebugError::NoSuchBreakpoint(_) => ErrorCode::NoSuchBreakpoint,
            DebugError::TooManyBreakpoints(_) => ErrorCode::TooManyBreakpoints,
            DebugError::Target(_) => ErrorCode::Target,
            DebugError::NoSuchOperator { .. } => ErrorCode::NoSuchOperator,
            DebugError::Breakpoint(_) => ErrorCode::Condition,
            DebugError::NoSuchTensor { .. } => ErrorCode::NoSuchTensor,
            DebugError::Replacement { .. } => ErrorCode::Replacement,
            DebugError::Resume(_) => ErrorCode::Resume,
            DebugError::Evaluation(_) => ErrorCode::Evaluation,
            DebugError::Tensor(_) => ErrorCode::Tensor,
            DebugError::System(_) => ErrorCode::System,
            DebugError::Connection(_) => ErrorCode::Connection,
            DebugError::Refused(refusal) => refusal.code.clone(),
        }
    }
}

impl Refusal {
    #[cfg(not(loom))]
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl From<DebugError> for Refusal {
    fn from(error: DebugError) -> Self {
        match error {
            DebugError::Refused(refusal) => refusal,
            error => Self { code: error.code(), message: error.to_string() },
        }
    }
}

/// Why a client has no connection to a program, or lost it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// No process has this number.
    #[error("there is no process {0}; give the number of a running program")]
    NoSuchProcess(u32),
    /// The process has no socket.
    #[error(
        "process {pid} has no debug server: there is no {}; a program that can be attached to is started with \
         --debug-server, and one whose socket lies elsewhere is reached by the path that it printed",
        .tried.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" and no ")
    )]
    NoServer {
        /// The process.
        pid: u32,
        /// Where its socket could be.
        tried: Vec<PathBuf>,
    },
    /// The system cannot connect to the socket.
    #[error("{} cannot be reached: {error}", .path.display())]
    Unreachable {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        error: Arc<io::Error>,
    },
    /// The program does not accept connections.
    #[error(
        "{} cannot be reached: for a second the program has accepted no connection; it may be stopped (Ctrl-Z), and \
         `kill -CONT` with its number lets it continue",
        .path.display()
    )]
    NotAccepted {
        /// The socket.
        path: PathBuf,
    },
    /// The program is stopped by a signal.
    #[error(
        "{} cannot be reached: process {pid}, which listens there, is stopped (Ctrl-Z, SIGSTOP); `kill -CONT {pid}` lets \
         it continue, and then it can be attached to",
        .path.display()
    )]
    Stopped {
        /// The socket.
        path: PathBuf,
        /// The program's process.
        pid: u32,
    },
    /// The socket belongs to another user's process.
    #[error(
        "{}: user {listener} listens there, and you are user {own}; only your own programs can be attached to",
        .path.display()
    )]
    OtherUser {
        /// The socket.
        path: PathBuf,
        /// The user of that process, by number.
        listener: u32,
        /// The user of this process, by number.
        own: u32,
    },
    /// The system does not say which user's process listens at the socket.
    #[error("{}: {error}", .path.display())]
    UnknownUser {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        error: Arc<io::Error>,
    },
    /// The system has no file descriptor left for the connection.
    #[error("the connection to the program cannot be used: {0}")]
    Unusable(Arc<io::Error>),
    /// A request cannot be written as JSON.
    #[error("the request cannot be written: {0}")]
    Request(Arc<serde_json::Error>),
    /// The program does not answer.
    #[error("the program did not answer for {seconds} s; it may be stopped")]
    NoAnswer {
        /// How long the client has waited, in seconds.
        seconds: u64,
    },
    /// An answer does not fit its request.
    #[error("the program's answer is not understood: {0}")]
    Answer(Arc<dyn Error + Send + Sync>),
    /// A message does not follow the protocol.
    #[error("a message of the program is not understood: {0}")]
    Message(Arc<serde_json::Error>),
    /// The program closed the connection with this reason.
    #[error("{0}")]
    Bye(String),
    /// The program closed the connection.
    #[error("the program ended, or closed the connection")]
    Closed,
    /// The connection failed.
    #[error("the connection to the program broke off: {0}")]
    Broken(Arc<dyn Error + Send + Sync>),
    /// The client closed the connection.
    #[error("the connection to the program was closed from this side")]
    HungUp,
}
