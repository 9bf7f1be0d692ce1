//! The options with which a debugger attaches, and the state of a program that it sees.

use std::time::Duration;

use opscope_model::{Fidelity, RunId};
use serde::{Deserialize, Serialize};

use crate::event::{EventSet, ModelId, Sequence, run_number};
use crate::queues::{Account, Release, Stop};

/// The options with which a debugger attaches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AttachOptions {
    /// The debugger's name, for messages.
    pub name: String,
    /// The events that it subscribes to.
    pub events: EventSet,
    /// How long an event may stay unacknowledged before its thread continues without it.
    #[serde(rename = "lease_ms", with = "milliseconds")]
    pub lease: Duration,
    /// The interval of timeout events; `None` if there are none.
    #[serde(rename = "timeout_ms", with = "maybe_milliseconds")]
    pub timeout: Option<Duration>,
    /// Whether every call from inside of the notification callback returns `RecursiveCall`, including those that take
    /// and acknowledge events.
    pub strict_callbacks: bool,
    /// Whether a client over a socket gets sync events along with their notification, without a request.
    pub deliver: bool,
    /// Whether `OperatorFinished` events include statistics of the operator's outputs.
    pub statistics: bool,
    /// How many async events can wait.
    pub async_capacity: usize,
}

impl Default for AttachOptions {
    fn default() -> Self {
        Self {
            name: String::new(),
            events: EventSet::default(),
            lease: Duration::from_secs(30),
            timeout: None,
            strict_callbacks: false,
            deliver: false,
            statistics: false,
            async_capacity: 16_384,
        }
    }
}

mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

mod maybe_milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(duration: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        duration.map(|duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Option::<u64>::deserialize(from).map(|millis| millis.map(Duration::from_millis))
    }
}

/// The state of a program and of its debugger.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The models that are loaded.
    pub models: Vec<LoadedModel>,
    /// The runs in progress.
    pub runs: Vec<RunState>,
    /// The threads that wait for an acknowledgement, in the order of their events.
    pub stopped: Vec<Stop>,
    /// The account of the sync queue since the debugger attached.
    pub sync: Account,
    /// The account of the async queue since the debugger attached.
    #[serde(rename = "async")]
    pub asynchronous: Account,
    /// The latest events (at most 64) whose threads continued without an acknowledgement.
    pub released: Vec<Release>,
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
    /// How faithfully the engine follows the file.
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
    /// The system's number of its thread; 0 before it begins.
    pub thread: u32,
    /// The event that it is stopped at, if it is.
    pub stopped: Option<Sequence>,
}
