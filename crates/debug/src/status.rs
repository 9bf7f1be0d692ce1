use std::fmt;

use opscope_model::{Fidelity, RunId};
use serde::{Deserialize, Serialize};

use crate::event::run_number;
use crate::{EventName, ModelId, Place, Sequence};

/// How a program stands with its debugger.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The models that are loaded.
    pub models: Vec<LoadedModel>,
    /// The runs in progress.
    pub runs: Vec<RunState>,
    /// Threads that wait for an acknowledgement, in the order of their events.
    pub stopped: Vec<Stop>,
    /// The account of the sync queue since the debugger attached.
    pub sync: Account,
    /// The account of the async queue since the debugger attached.
    #[serde(rename = "async")]
    pub asynchronous: Account,
    /// The latest events (at most 64) whose threads went on without an acknowledgement.
    pub released: Vec<Release>,
}

/// Where a queue's events went: `raised == delivered + coalesced + waiting + discarded`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Events that were raised.
    pub raised: u64,
    /// Events that the debugger has read.
    pub delivered: u64,
    /// Events that were folded into others because nobody read.
    pub coalesced: u64,
    /// Events that wait to be read.
    pub waiting: u64,
    /// Events that were thrown away unread when the debugger went.
    pub discarded: u64,
}

/// A model that a program has loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedModel {
    /// Its number.
    pub model: ModelId,
    /// The graph's name in the file.
    pub name: String,
    /// The file.
    pub path: String,
    /// How faithfully the file is followed.
    pub fidelity: Fidelity,
    /// How many operators it has.
    pub operators: u32,
}

/// A run in progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// The run.
    #[serde(with = "run_number")]
    pub run: RunId,
    /// Its model.
    pub model: ModelId,
    /// The system's number of the thread that it runs on; 0 before it begins.
    pub thread: u32,
    /// The event that it is stopped at, if it is.
    pub stopped: Option<Sequence>,
}

/// A thread that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// The event.
    pub event: Sequence,
    /// Its kind.
    pub kind: EventName,
    /// Where, for a place in a run.
    pub place: Option<Place>,
    /// The system's number of the thread.
    pub thread: u32,
    /// Whether the event was read.
    pub read: bool,
}

/// An event whose thread went on without an acknowledgement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Release {
    /// The event.
    pub event: Sequence,
    /// Its kind.
    pub kind: EventName,
    /// Where, for a place in a run.
    pub place: Option<Place>,
    /// Why.
    pub because: ReleaseReason,
}

/// Why a thread went on without an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReleaseReason {
    /// Its lease ran out.
    LeaseExpired,
    /// The debugger went: it detached, hung up or died.
    DebuggerGone,
}

impl fmt::Display for ReleaseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReleaseReason::LeaseExpired => "its lease ran out",
            ReleaseReason::DebuggerGone => "the debugger went",
        })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {} ({}", self.event, self.kind)?;
        if let Some(place) = &self.place {
            write!(f, ", {place}")?;
        }
        write!(f, ") was not acknowledged: {}; its thread goes on", self.because)
    }
}
