use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of an event, from 1, counted over both queues. Requests refer to a stopped thread by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sequence(pub u64);

/// The number of a model that the program has loaded, from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelId(pub u32);

/// The number of a breakpoint, from 1. Numbers are not reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BreakpointId(pub u32);

/// The queue in which an event waits until it is read. Each queue keeps its order. The [`Sequence`] orders the events
/// of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// Events whose thread waits until they are acknowledged.
    Sync,
    /// Events for which no thread waits.
    Async,
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for BreakpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Queue::Sync => "sync",
            Queue::Async => "async",
        })
    }
}

/// Serializes the number of a run, whose type belongs to `opscope_model`, which knows no text form.
pub(crate) mod run_number {
    use opscope_model::RunId;
    use serde::Deserialize;

    pub fn serialize<S: serde::Serializer>(run: &RunId, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(run.0)
    }

    pub fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<RunId, D::Error> {
        u64::deserialize(from).map(RunId)
    }
}
