use std::env;
use std::sync::OnceLock;
use std::time::Duration;

use opscope_debug::{EventName, EventSet};

use crate::globals;
use crate::layout::numbers::{LaunchNotifyMode, capability};
use crate::version::Version;

/// The options that the client and the environment set before the session is opened.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub version: Version,
    capabilities: u32,
    /// How long the program waits for an acknowledgement.
    pub lease: Duration,
    /// Whether a run stops with an exception at the first operator that computes NaN or infinity.
    pub watches_non_finite: bool,
    traced: Option<Traced>,
}

/// The process that a debugger traces while the program runs in another one.
#[derive(Debug, Clone, Copy)]
pub struct Traced {
    /// Its only thread. The debugger knows no thread of the program.
    pub thread: u32,
    /// Whether the debugger attached to it. A debugger that started it would take an attach event for a stop.
    pub is_attached: bool,
}

/// The process that the debugger traces in place of the program, if there is one.
static TRACED: OnceLock<Traced> = OnceLock::new();

impl Traced {
    /// Sets the process that the debugger traces, for the sessions that are opened later. Only the first call has an
    /// effect.
    pub fn set(self) {
        let _ = TRACED.set(self);
    }
}

/// Returns the thread of the process that the debugger traces in place of the program, if there is one.
pub fn traced_thread() -> Option<u32> {
    TRACED.get().map(|traced| traced.thread)
}

/// The capabilities of this library.
pub const SUPPORTED: u32 = capability::LAZY_FUNCTION_LOADING
    | capability::SUSPEND_EVENTS
    | capability::NO_CONTEXT_PUSH_POP_EVENTS
    | capability::BREAK_ON_LAUNCH;

/// The environment variable that sets the lease, in seconds.
const LEASE: &str = "OPSCOPE_DEBUG_LEASE";

/// The environment variable that makes the first NaN or infinity of a run an exception, if its value is 1. Runs are
/// then slower, because all their tensors are searched.
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

    /// Returns the thread that a client sees for a thread of the program.
    pub fn thread(self, of_program: u32) -> u32 {
        self.traced.map_or(of_program, |traced| traced.thread)
    }

    /// Returns whether the client receives an event for every finished dispatch. A debugger that traces a process
    /// queries the state of its dispatches instead. It would take such an event to mean that a run is over, even if the
    /// run is stopped after the operator.
    pub fn wants_finished(self) -> bool {
        self.traced.is_none()
    }

    /// Returns whether a suspension that finds no run waits for the next one. A debugger that traces a process looks
    /// for runs only once, when its user interrupts the process.
    pub fn wants_next_run(self) -> bool {
        self.traced.is_some()
    }

    /// Returns whether the client receives an event when it has attached.
    pub fn wants_attach_complete(self) -> bool {
        self.traced.is_none_or(|traced| traced.is_attached)
    }

    pub fn wants_functions(self) -> bool {
        self.has(capability::LAZY_FUNCTION_LOADING)
    }

    pub fn wants_suspensions(self) -> bool {
        self.has(capability::SUSPEND_EVENTS)
    }

    /// Returns whether the client receives events for the beginning and the end of each run. A debugger that traces a
    /// process does not, because runs that overlap would not be nested in the process's only thread.
    pub fn wants_runs(self) -> bool {
        self.traced.is_none() && !self.has(capability::NO_CONTEXT_PUSH_POP_EVENTS)
    }

    pub fn wants_break_on_launch(self) -> bool {
        self.has(capability::BREAK_ON_LAUNCH)
    }

    /// Returns whether the client receives timeout events, and is notified again while it does not acknowledge an
    /// event. This holds for clients before 13.0.
    pub fn wants_timeouts(self) -> bool {
        !self.version.is_13()
    }

    /// Returns the events that the program must send. While the device is suspended, they include an event before every
    /// operator, at which runs stop.
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
