//! What a debugger is told.

mod identity;
mod kind;
mod place;
mod set;

use opscope_clock::Timestamp;
use serde::{Deserialize, Serialize};

pub use identity::{ModelId, Queue, Sequence};
pub use kind::{EventKind, Exception, NonFinite, NonFiniteInput, Origin, OutputSummary};
pub(crate) use place::run as run_number;
pub use place::{Moment, Place};
pub use set::{EventName, EventSet};

/// One event: a fact about a program that runs models.
///
/// A sync event parks the thread that raised it until the debugger has read and acknowledged it. An async event asks for
/// no answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its number, from 1, over both queues: what has a lower number happened earlier.
    pub sequence: Sequence,
    /// When it was raised.
    #[serde(with = "nanos")]
    pub at: Timestamp,
    /// The system's number of the thread that raised it; 0 for what no thread of the program raised.
    pub thread: u32,
    /// Whether that thread was waiting for the acknowledgement when the event was read. It does not for async events, for
    /// replayed ones, and when its lease had run out before.
    pub waiting: bool,
    /// Whether it tells of something that had happened before the debugger came.
    pub replayed: bool,
    /// How many later events of the same kind were folded into this one, because nobody read.
    pub coalesced: u64,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// The queue that it waits in.
    pub fn queue(&self) -> Queue {
        self.kind.name().queue()
    }
}

/// Nanoseconds since boot.
mod nanos {
    use super::{Deserialize, Timestamp};

    pub fn serialize<S: serde::Serializer>(time: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(time.as_nanos())
    }

    pub fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        u64::deserialize(from).map(Timestamp::from_nanos_since_boot)
    }
}
