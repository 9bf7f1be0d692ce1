//! The events that a debugger gets from a program.

mod exception;
mod id;
mod kind;
mod number;
mod position;
mod set;
mod summary;
mod table;

use std::fmt;

use opscope_clock::Timestamp;
use serde::{Deserialize, Serialize};

pub use exception::{Exception, NonFinite, NonFiniteInput, Origin};
pub(crate) use id::run_number;
pub use id::{BreakpointId, ModelId, Queue, Sequence};
pub use kind::{EventKind, EventName, StopCause, UnknownEvent};
pub use number::ShortNumber;
pub use position::{Moment, RunPosition};
pub use set::EventSet;
pub use summary::{OutputSummary, StatisticsSummary};

/// One event: a fact about a program that runs models.
///
/// A sync event parks the thread that raised it until the debugger has read and acknowledged it. An async event is not
/// acknowledged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its number, from 1, over both queues: an event with a lower number happened earlier.
    pub sequence: Sequence,
    /// When it was raised.
    #[serde(with = "nanos")]
    pub at: Timestamp,
    /// The system's number of the thread that raised it; 0 if no thread of the program did.
    pub thread: u32,
    /// Whether that thread was waiting for the acknowledgement when the event was read. A thread does not wait for
    /// async and replayed events, nor after its lease has expired.
    pub waiting: bool,
    /// Whether the event happened before the debugger attached.
    pub replayed: bool,
    /// How many later events of the same kind were coalesced into this one because the queue was not read.
    pub coalesced: u64,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// Returns the queue in which it waits.
    pub fn queue(&self) -> Queue {
        self.kind.name().queue()
    }
}

/// Displays the event in one line for users.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.write_text(f, self.thread)?;
        if self.coalesced > 0 {
            write!(f, " (and {} more of this kind)", self.coalesced)?;
        }
        Ok(())
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
