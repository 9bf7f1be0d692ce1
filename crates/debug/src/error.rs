use opscope_tensor::TensorError;

use crate::{BreakpointId, Sequence, TargetError};

/// Why a call of a debugger was refused. Nothing has changed then.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum DebugError {
    /// Another debugger is attached.
    #[error("'{by}' is attached already; a program has one debugger at a time: let that one detach first")]
    AlreadyAttached {
        /// The other debugger's name.
        by: String,
    },
    /// This debugger is not attached, or no longer.
    #[error("the debugger is not attached{}", because(.0))]
    NotAttached(Option<String>),
    /// A call from inside of the notification callback, or a look from inside of a look.
    #[error(
        "this call cannot be made from inside of the notification callback, nor of a look at a stopped run; make it from \
         another thread"
    )]
    RecursiveCall,
    /// An event that stopped no thread.
    #[error("no thread waits at event {0}: it was acknowledged before, was never told, or stopped nothing")]
    NotStopped(Sequence),
    /// An event that was answered already.
    #[error("the thread of event {0} has gone on already: {1}")]
    GoneOn(Sequence, String),
    /// The event was not read.
    #[error("event {0} was not read; read it from its queue before it is acknowledged")]
    NotRead(Sequence),
    /// A number that no breakpoint has.
    #[error("there is no breakpoint {0}")]
    NoSuchBreakpoint(BreakpointId),
    /// More breakpoints than are kept.
    #[error("there are {0} breakpoints, which is as many as there can be; remove some first")]
    TooManyBreakpoints(usize),
    /// A place for a breakpoint.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A place that is nowhere in the models that are loaded.
    #[error("no operator is called '{target}'{}", there_is(.nearest))]
    NoSuchOperator {
        /// The place.
        target: String,
        /// A name that is like it.
        nearest: Option<String>,
    },
    /// A condition.
    #[error("{0}")]
    Condition(String),
    /// A tensor that is not there.
    #[error("there is no {reference} here: {reason}")]
    NoSuchTensor {
        /// As it was asked for.
        reference: String,
        /// What there is.
        reason: String,
    },
    /// A tensor that cannot be replaced by the one that was given.
    #[error("{reference} cannot be replaced: {reason}")]
    Replacement {
        /// The tensor.
        reference: String,
        /// What does not fit.
        reason: String,
    },
    /// A way to go on that is not possible here.
    #[error("the run cannot go on like this: {0}")]
    Resume(String),
    /// The data of a tensor.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// The system has no room for what a call needs.
    #[error("the system gives no descriptor or thread for the notification: {0}")]
    System(String),
    /// The connection to the program, in a sentence.
    #[error("{0}")]
    Connection(String),
    /// What the program answered.
    #[error("{message}")]
    Refused {
        /// The name of the refusal in the protocol.
        code: String,
        /// What it said.
        message: String,
    },
}

fn because(reason: &Option<String>) -> String {
    reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default()
}

fn there_is(name: &Option<String>) -> String {
    name.as_ref().map(|name| format!("; there is '{name}'")).unwrap_or_default()
}

impl DebugError {
    pub(crate) fn system(error: std::io::Error) -> Self {
        DebugError::System(error.to_string())
    }

    /// Its name in the protocol.
    pub fn code(&self) -> &str {
        match self {
            DebugError::AlreadyAttached { .. } => "already_attached",
            DebugError::NotAttached(_) => "not_attached",
            DebugError::RecursiveCall => "recursive_call",
            DebugError::NotStopped(_) => "not_stopped",
            DebugError::GoneOn(..) => "gone_on",
            DebugError::NotRead(_) => "not_read",
            DebugError::NoSuchBreakpoint(_) => "no_such_breakpoint",
            DebugError::TooManyBreakpoints(_) => "too_many_breakpoints",
            DebugError::Target(_) => "target",
            DebugError::NoSuchOperator { .. } => "no_such_operator",
            DebugError::Condition(_) => "condition",
            DebugError::NoSuchTensor { .. } => "no_such_tensor",
            DebugError::Replacement { .. } => "replacement",
            DebugError::Resume(_) => "resume",
            DebugError::Tensor(_) => "tensor",
            DebugError::System(_) => "system",
            DebugError::Connection(_) => "connection",
            DebugError::Refused { code, .. } => code,
        }
    }
}
