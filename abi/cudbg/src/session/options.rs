use std::env;
use std::time::Duration;

use opscope_debug::{EventName, EventSet};

use crate::globals;
use crate::layout::numbers::{LaunchNotifyMode, capability};
use crate::version::Version;

/// What the client asked for before it opened the session.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub version: Version,
    capabilities: u32,
    /// How long the program waits for an acknowledgement.
    pub lease: Duration,
    /// Whether the first operator of a run that computes NaN or infinity is an exception.
    pub watches_non_finite: bool,
}

/// The capabilities that there are.
pub const SUPPORTED: u32 = capability::LAZY_FUNCTION_LOADING
    | capability::SUSPEND_EVENTS
    | capability::NO_CONTEXT_PUSH_POP_EVENTS
    | capability::BREAK_ON_LAUNCH;

/// Sets the lease, in seconds.
const LEASE: &str = "OPSCOPE_DEBUG_LEASE";

/// Makes the first NaN or infinity of a run an exception, if it is 1. A run is then slower: all its tensors are searched.
const NON_FINITE: &str = "OPSCOPE_DEBUG_NONFINITE";

impl Options {
    pub fn of_environment() -> Self {
        let seconds = env::var(LEASE).ok().and_then(|text| text.parse().ok());
        let seconds = seconds.filter(|seconds: &f64| (0.01..=600.0).contains(seconds));
        Self {
            version: Version::requested(),
            capabilities: globals::capabilities() & SUPPORTED,
            lease: seconds.map_or(Duration::from_secs(30), Duration::from_secs_f64),
            watches_non_finite: env::var_os(NON_FINITE).is_some_and(|value| value == "1"),
        }
    }

    pub fn wants_functions(self) -> bool {
        self.has(capability::LAZY_FUNCTION_LOADING)
    }

    pub fn wants_suspensions(self) -> bool {
        self.has(capability::SUSPEND_EVENTS)
    }

    pub fn wants_runs(self) -> bool {
        !self.has(capability::NO_CONTEXT_PUSH_POP_EVENTS)
    }

    pub fn wants_break_on_launch(self) -> bool {
        self.has(capability::BREAK_ON_LAUNCH)
    }

    /// Returns whether it gets timeout events, and is notified again while it does not acknowledge: before 13.0.
    pub fn wants_timeouts(self) -> bool {
        !self.version.is_13()
    }

    /// Returns the events of the program that are needed. While the device is suspended, every run stops at its next
    /// operator.
    pub fn subscription(self, mode: LaunchNotifyMode, suspended: bool) -> EventSet {
        let mut events = EventSet::default().with(EventName::OperatorFinished).without(EventName::Timeout);
        if mode == LaunchNotifyMode::Event || suspended {
            events = events.with(EventName::OperatorReady);
        }
        if self.wants_runs() || suspended {
            events = events.with(EventName::RunPushed).with(EventName::RunPopped);
        }
        events
    }

    fn has(self, capability: u32) -> bool {
        self.capabilities & capability != 0
    }
}
