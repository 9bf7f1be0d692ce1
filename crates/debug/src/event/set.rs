use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Queue;

/// The kinds of events, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum EventName {
    ModelLoaded,
    ModelUnloaded,
    RunCreated,
    RunDestroyed,
    RunPushed,
    RunPopped,
    OperatorReady,
    OperatorFinished,
    Breakpoint,
    StepComplete,
    Paused,
    Exception,
    AttachComplete,
    DetachComplete,
    Timeout,
    InternalError,
}

/// Kinds of events that a debugger wants to be told of.
///
/// The default is what a person at a prompt needs: not the course of every run and every operator. Breakpoints, steps,
/// pauses and the ends of attaching and detaching are always told: whoever asked for them waits for them.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<EventName>", into = "Vec<EventName>")]
pub struct EventSet(u32);

impl EventName {
    /// All of them.
    pub const ALL: [EventName; 16] = [
        EventName::ModelLoaded,
        EventName::ModelUnloaded,
        EventName::RunCreated,
        EventName::RunDestroyed,
        EventName::RunPushed,
        EventName::RunPopped,
        EventName::OperatorReady,
        EventName::OperatorFinished,
        EventName::Breakpoint,
        EventName::StepComplete,
        EventName::Paused,
        EventName::Exception,
        EventName::AttachComplete,
        EventName::DetachComplete,
        EventName::Timeout,
        EventName::InternalError,
    ];

    /// The queue of these events. It is a property of the kind, so that a debugger knows what will wait for it.
    pub fn queue(self) -> Queue {
        match self {
            EventName::OperatorFinished | EventName::Timeout | EventName::InternalError => Queue::Async,
            _ => Queue::Sync,
        }
    }

    /// As it is written in the protocol.
    pub fn as_str(self) -> &'static str {
        match self {
            EventName::ModelLoaded => "model_loaded",
            EventName::ModelUnloaded => "model_unloaded",
            EventName::RunCreated => "run_created",
            EventName::RunDestroyed => "run_destroyed",
            EventName::RunPushed => "run_pushed",
            EventName::RunPopped => "run_popped",
            EventName::OperatorReady => "operator_ready",
            EventName::OperatorFinished => "operator_finished",
            EventName::Breakpoint => "breakpoint",
            EventName::StepComplete => "step_complete",
            EventName::Paused => "paused",
            EventName::Exception => "exception",
            EventName::AttachComplete => "attach_complete",
            EventName::DetachComplete => "detach_complete",
            EventName::Timeout => "timeout",
            EventName::InternalError => "internal_error",
        }
    }

    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

impl EventSet {
    /// Those that are always told.
    pub const ALWAYS: EventSet = EventSet::NONE
        .with(EventName::Breakpoint)
        .with(EventName::StepComplete)
        .with(EventName::Paused)
        .with(EventName::AttachComplete)
        .with(EventName::DetachComplete);

    const NONE: EventSet = EventSet(0);

    /// These and one more kind.
    #[must_use]
    pub const fn with(self, name: EventName) -> Self {
        Self(self.0 | name.bit())
    }

    /// These without one kind, unless it is one that is always told.
    #[must_use]
    pub const fn without(self, name: EventName) -> Self {
        Self(self.0 & !name.bit() | Self::ALWAYS.0)
    }

    /// Every kind.
    pub fn all() -> Self {
        EventName::ALL.into_iter().collect()
    }

    /// Whether a kind is among them.
    pub const fn contains(self, name: EventName) -> bool {
        self.0 & name.bit() != 0
    }

    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The kinds.
    pub fn iter(self) -> impl Iterator<Item = EventName> {
        EventName::ALL.into_iter().filter(move |name| self.contains(*name))
    }
}

impl Default for EventSet {
    fn default() -> Self {
        Self::ALWAYS
            .with(EventName::ModelLoaded)
            .with(EventName::ModelUnloaded)
            .with(EventName::Exception)
            .with(EventName::Timeout)
            .with(EventName::InternalError)
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

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for EventName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|name| name.as_str() == text).ok_or_else(|| {
            let all: Vec<_> = Self::ALL.iter().map(|name| name.as_str()).collect();
            format!("'{text}' is no kind of event; they are {}", all.join(", "))
        })
    }
}
