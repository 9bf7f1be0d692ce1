//! The events that a debugger gets from a program.

mod exception;
mod id;
mod kind;
mod table;

use std::fmt;

use opscope_clock::Timestamp;
use serde::{Deserialize, Serialize};

pub use exception::{Exception, NonFinite, NonFiniteInput, Origin, OutputSummary, StatisticsSummary};
pub(crate) use id::run_number;
pub use id::{BreakpointId, ModelId, Moment, Queue, RunPosition, Sequence, ShortNumber};
use kind::Sent;
pub use kind::{EventKind, EventName, StopCause, UnknownEvent};

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

/// The kinds of events that a client subscribes to.
///
/// The default suits a person at a prompt: it excludes the beginning and end of every run and operator. Breakpoints,
/// steps, pauses and the ends of attaching and detaching are always included, because the client waits for them.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<EventName>", into = "Vec<EventName>")]
pub struct EventSet(u32);

const _: () = assert!(EventName::ALL.len() <= u32::BITS as usize, "every kind has a bit");

impl EventSet {
    /// The kinds that are in every set.
    pub const ALWAYS: EventSet = Self::sent(Sent::Always);

    /// Returns this set with one more kind.
    #[must_use]
    pub const fn with(self, name: EventName) -> Self {
        Self(self.0 | bit(name))
    }

    /// Returns this set without one kind, unless the kind is in every set.
    #[must_use]
    pub const fn without(self, name: EventName) -> Self {
        Self(self.0 & !bit(name) | Self::ALWAYS.0)
    }

    /// Returns the set of all kinds.
    pub fn all() -> Self {
        EventName::ALL.into_iter().collect()
    }

    /// Returns whether a kind is in the set.
    pub const fn contains(self, name: EventName) -> bool {
        self.0 & bit(name) != 0
    }

    /// Returns the kinds in the set.
    pub fn iter(self) -> impl Iterator<Item = EventName> {
        EventName::ALL.into_iter().filter(move |name| self.contains(*name))
    }

    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    const fn sent(sent: Sent) -> Self {
        let (mut set, mut next) = (0, 0);
        while next < EventName::ALL.len() {
            let name = EventName::ALL[next];
            if name.sent() as u8 == sent as u8 {
                set |= bit(name);
            }
            next += 1;
        }
        Self(set)
    }
}

const fn bit(name: EventName) -> u32 {
    1 << name as u32
}

impl Default for EventSet {
    fn default() -> Self {
        Self(Self::ALWAYS.0 | Self::sent(Sent::ByDefault).0)
    }
}

impl FromIterator<EventName> for EventSet {
    fn from_iter<I: IntoIterator<Item = EventName>>(names: I) -> Self {
        names.into_iter().fold(Self::ALWAYS, Self::with)
    }
}

impl From<Vec<EventName>> for EventSet {
    fn from(names: Vec<EventName>) -> Self {
        names.into_iter().collect()
    }
}

impl From<EventSet> for Vec<EventName> {
    fn from(set: EventSet) -> Self {
        set.iter().collect()
    }
}

impl fmt::Debug for EventSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(EventName::as_str)).finish()
    }
}
