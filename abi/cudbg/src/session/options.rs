use std::env;
use std::sync::OnceLock;
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
    traced: Option<Traced>,
}

/// The process that a debugger traces while the program runs in another one.
#[derive(Debug, Clone, Copy)]
pub struct Traced {
    /// Its only thread: the debugger knows no thread of the program.
    pub thread: u32,
    /// Whether the debugger attached to it. One that has started it takes an event that says so for a stop.
    pub is_attached: bool,
}

/// The process that stands for the program, if there is one.
static TRACED: OnceLock<Traced> = OnceLock::new();

impl Traced {
    /// Makes the session that is opened next one of this process.
    pub fn set(self) {
        let _ = TRACED.set(self);
    }
}

/// Returns the thread of the process that stands for the program, if there is one.
pub fn traced_thread() -> Option<u32> {
    TRACED.get().map(|traced| traced.thread)
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
            traced: TRACED.get().copied(),
        }
    }

    /// Returns the thread that a client is told of in place of one of the program.
    pub fn thread(self, of_program: u32) -> u32 {
        self.traced.map_or(of_program, |traced| traced.thread)
    }

    /// Returns whether the client is told of every dispatch that has finished. One that traces a process asks how far the dispatches
    /// are that it knows, and takes a run that is stopped behind an operator for over when it is told of its end.
    pub fn wants_finished(self) -> bool {
        self.traced.is_none()
    }

    /// Returns whether a suspension that finds no run waits for the next one: a user who interrupts the process looks once.
    pub fn wants_next_run(self) -> bool {
        self.traced.is_some()
    }

    /// Returns whether the client is told that it has attached.
    pub fn wants_attach_complete(self) -> bool {
        self.traced.is_none_or(|traced| traced.is_attached)
    }

    pub fn wants_functions(self) -> bool {
        self.has(capability::LAZY_FUNCTION_LOADING)
    }

    pub fn wants_suspensions(self) -> bool {
        self.has(capability::SUSPEND_EVENTS)
    }

    /// Returns whether the client is told of the begin and the end of a run. Runs that overlap would not be nested in the only
    /// thread of a traced process.
    pub fn wants_runs(self) -> bool {
        self.traced.is_none() && !self.has(capability::NO_CONTEXT_PUSH_POP_EVENTS)
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
