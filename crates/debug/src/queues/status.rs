//! How a stopped run continues, and what the queues report: their counts, who waits, who was released.

use std::fmt;

use opscope_tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::breakpoint::Target;
use crate::error::Continued;
use crate::event::{EventName, RunPosition, Sequence};

/// The counts of a queue's events: `raised == delivered + coalesced + waiting + discarded`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// How many events were raised.
    pub raised: u64,
    /// How many the client has read.
    pub delivered: u64,
    /// How many were coalesced into others because the queue was not read.
    pub coalesced: u64,
    /// How many wait to be read.
    pub waiting: u64,
    /// How many were discarded unread after the client was gone.
    pub discarded: u64,
}

/// A thread that waits at an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// The event.
    pub event: Sequence,
    /// Its kind.
    pub kind: EventName,
    /// Where the run is, if it is at an operator.
    pub place: Option<RunPosition>,
    /// The system's number of the thread.
    pub thread: u32,
    /// Whether the event was read.
    pub read: bool,
}

/// An event whose thread continued without an acknowledgement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Release {
    /// The event.
    pub event: Sequence,
    /// Its kind.
    pub kind: EventName,
    /// Where the run is, if it is at an operator.
    pub place: Option<RunPosition>,
    /// Why it continued.
    pub because: ReleaseReason,
}

/// Why a thread continued without an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReleaseReason {
    /// Its lease expired.
    LeaseExpired,
    /// It was stopped for as long as the program allows.
    StoppedTooLong,
    /// The debugger detached, closed the connection or died.
    DebuggerGone,
}

impl fmt::Display for ReleaseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReleaseReason::LeaseExpired => "its lease expired",
            ReleaseReason::StoppedTooLong => "the program lets no run stop for longer",
            ReleaseReason::DebuggerGone => "the debugger is gone",
        })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {} ({}", self.event, self.kind)?;
        if let Some(place) = &self.place {
            write!(f, ", {place}")?;
        }
        write!(f, ") was not acknowledged: {}; its thread continues", self.because)
    }
}

impl From<ReleaseReason> for Continued {
    fn from(reason: ReleaseReason) -> Self {
        match reason {
            ReleaseReason::LeaseExpired => Continued::LeaseExpired,
            ReleaseReason::StoppedTooLong => Continued::StoppedTooLong,
            ReleaseReason::DebuggerGone => Continued::DebuggerGone,
        }
    }
}

/// How a stopped run continues. It uses the replacements that were made while it was stopped.
#[derive(Debug, Clone, Default)]
pub enum Resume {
    /// Continue until something stops it.
    #[default]
    Continue,
    /// Continue to the next operator of this run.
    Step,
    /// Continue to the end of this operator or, if the run is there already, of the next one.
    Finish,
    /// Continue to one of these operators in this run, or to the run's end.
    Until(Target),
    /// Continue to the next operator of this run that is in no module inside of the one that this operator is in, or to
    /// the run's end.
    Over,
    /// Continue to the next operator of this run outside of this many of the modules around this operator, counted from
    /// the outermost one, or to the run's end.
    Leave(u32),
    /// Skip the operator before which it is stopped. The tensors are the operator's outputs, one for each slot. If the
    /// engine executes the operator in several kernels, those that compute its outputs are skipped.
    Skip(Vec<Tensor>),
    /// End the run at once: it fails with this reason.
    Abort(String),
}
