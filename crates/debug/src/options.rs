use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::EventSet;

/// How a debugger attaches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AttachOptions {
    /// The debugger's name, for messages.
    pub name: String,
    /// What it wants to be told.
    pub events: EventSet,
    /// How long an event may stay unacknowledged before its thread goes on without it.
    #[serde(rename = "lease_ms", with = "milliseconds")]
    pub lease: Duration,
    /// A timeout event comes in this interval; none if not given.
    #[serde(rename = "timeout_ms", with = "maybe_milliseconds")]
    pub timeout: Option<Duration>,
    /// Whether from inside of the notification callback every call answers `RecursiveCall`, as it was before events could
    /// be taken there.
    pub strict_callbacks: bool,
    /// Whether an operator's end is told with statistics of its outputs.
    pub statistics: bool,
    /// How many async events wait at most.
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
