use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use opscope_model::{Fidelity, RunId};
use serde::{Deserialize, Serialize};

use super::exception::{Exception, OutputSummary};
use super::id::{BreakpointId, ModelId, Queue, RunPosition, run_number};
use super::table::event_kinds;

/// Why a run is stopped at an event until the user continues it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCause {
    /// The debugger has requested it by a breakpoint, a step or a pause.
    Request,
    /// The run has failed; its tensors are gone.
    Failure,
}

/// Whether a client gets events of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// Always, because these events answer its own requests.
    Always,
    /// Unless it unsubscribes.
    ByDefault,
    /// Only if it subscribes to the kind.
    OnRequest,
}

/// The subject of an event.
#[derive(Clone, Copy, Default)]
struct About<'a> {
    run: Option<RunId>,
    position: Option<&'a RunPosition>,
    /// The breakpoints that were hit.
    breakpoints: &'a [BreakpointId],
}

impl<'a> About<'a> {
    const PROGRAM: About<'static> = About { run: None, position: None, breakpoints: &[] };

    fn run(run: RunId) -> Self {
        Self { run: Some(run), ..Self::PROGRAM }
    }

    fn position(position: &'a RunPosition) -> Self {
        Self { run: Some(position.run), position: Some(position), breakpoints: &[] }
    }
}

event_kinds! {
    /// A model is ready: breakpoints can be set on its operators.
    ModelLoaded {
        /// Its number.
        model: ModelId,
        /// The graph's name in the file.
        name: Arc<str>,
        /// The file.
        path: Arc<str>,
        /// How faithfully the engine follows the file.
        fidelity: Fidelity,
        /// How many operators it has.
        operators: u32,
    } => {
        name: "model_loaded", queue: Sync, sent: ByDefault, about: About::PROGRAM, stop: None,
        text: |f, thread| {
            let plural = if *operators == 1 { "" } else { "s" };
            write!(f, "Model {model}: {name} ({path}), {operators} operator{plural}, {fidelity}")
        },
    }
    /// A model was unloaded.
    ModelUnloaded {
        /// Its number.
        model: ModelId,
    } => {
        name: "model_unloaded", queue: Sync, sent: ByDefault, about: About::PROGRAM, stop: None,
        text: |f, thread| write!(f, "Model {model} is unloaded"),
    }
    /// A run was prepared.
    RunCreated {
        /// The run.
        #[serde(with = "run_number")]
        run: RunId,
        /// Its model.
        model: ModelId,
    } => {
        name: "run_created", queue: Sync, sent: OnRequest, about: About::run(*run), stop: None,
        text: |f, thread| write!(f, "Run {} of model {model} was prepared", run.0),
    }
    /// The resources of a run were released.
    RunDestroyed {
        /// The run.
        #[serde(with = "run_number")]
        run: RunId,
    } => {
        name: "run_destroyed", queue: Sync, sent: OnRequest, about: About::run(*run), stop: None,
        text: |f, thread| write!(f, "The resources of run {} are released", run.0),
    }
    /// A run begins on the thread that raised this event.
    RunPushed {
        /// The run.
        #[serde(with = "run_number")]
        run: RunId,
        /// Its model; 0 if the program does not say.
        #[serde(default)]
        model: ModelId,
    } => {
        name: "run_pushed", queue: Sync, sent: OnRequest, about: About::run(*run), stop: None,
        text: |f, thread| write!(f, "Run {} begins on thread {thread}", run.0),
    }
    /// A run has ended.
    RunPopped {
        /// The run.
        #[serde(with = "run_number")]
        run: RunId,
        /// Its model; 0 if the program does not say.
        #[serde(default)]
        model: ModelId,
        /// Why it failed, if it did.
        error: Option<String>,
    } => {
        name: "run_popped", queue: Sync, sent: OnRequest, about: About::run(*run), stop: None,
        text: |f, thread| match error {
            None => write!(f, "Run {} ended", run.0),
            Some(error) => write!(f, "Run {} failed: {error}", run.0),
        },
    }
    /// An operator is about to be executed.
    OperatorReady {
        /// Where.
        place: RunPosition,
    } => {
        name: "operator_ready", queue: Sync, sent: OnRequest, about: About::position(place), stop: None,
        text: |f, thread| write!(f, "Ready: {place}"),
    }
    /// An operator was executed.
    OperatorFinished {
        /// Where.
        place: RunPosition,
        /// Statistics of its outputs, where the client [asked for them](crate::AttachOptions::statistics).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        outputs: Vec<OutputSummary>,
    } => {
        name: "operator_finished", queue: Async, sent: OnRequest, about: About::position(place), stop: None,
        text: |f, thread| {
            write!(f, "Finished: {place}")?;
            outputs.iter().try_for_each(|output| write!(f, "{output}"))
        },
    }
    /// A run is stopped at breakpoints.
    Breakpoint {
        /// Where.
        place: RunPosition,
        /// The breakpoints that were hit.
        breakpoints: Vec<BreakpointId>,
    } => {
        name: "breakpoint", queue: Sync, sent: Always,
        about: About { breakpoints, ..About::position(place) },
        stop: Some(StopCause::Request),
        text: |f, thread| {
            let plural = if breakpoints.len() == 1 { "" } else { "s" };
            write!(f, "Breakpoint{plural} {}, {place}", Numbers(breakpoints))
        },
    }
    /// A run is stopped after the step that the client asked for.
    StepComplete {
        /// Where.
        place: RunPosition,
    } => {
        name: "step_complete", queue: Sync, sent: Always, about: About::position(place), stop: Some(StopCause::Request),
        text: |f, thread| write!(f, "{place}"),
    }
    /// A run is stopped because the client paused it.
    Paused {
        /// Where.
        place: RunPosition,
    } => {
        name: "paused", queue: Sync, sent: Always, about: About::position(place), stop: Some(StopCause::Request),
        text: |f, thread| write!(f, "Paused {place}"),
    }
    /// An error occurred in a run, or an operator computed or took in NaN or infinity.
    Exception {
        /// The run.
        #[serde(with = "run_number")]
        run: RunId,
        /// Where it happened, if that is known.
        place: Option<RunPosition>,
        /// What went wrong.
        exception: Exception,
    } => {
        name: "exception", queue: Sync, sent: ByDefault,
        about: About { run: Some(*run), position: place.as_ref(), breakpoints: exception.breakpoints() },
        stop: Some(match exception {
            Exception::NonFinite { .. } => StopCause::Request,
            Exception::Engine { .. } => StopCause::Failure,
        }),
        text: |f, thread| match exception {
            Exception::NonFinite { breakpoints, inputs, outputs } => {
                write!(f, "Breakpoint {}, ", Numbers(breakpoints))?;
                match place {
                    Some(place) => write!(f, "{place}: ")?,
                    None => write!(f, "run {}: ", run.0)?,
                }
                let tensors = inputs.iter().map(ToString::to_string).chain(outputs.iter().map(ToString::to_string));
                f.write_str(&tensors.collect::<Vec<_>>().join(", "))
            }
            Exception::Engine { message, .. } => {
                write!(f, "Run {} failed", run.0)?;
                if let Some(place) = place {
                    write!(f, " at {}", place.label())?;
                }
                write!(f, ": {message}")
            }
        },
    }
    /// The client has received all events that report what happened before it attached.
    AttachComplete => {
        name: "attach_complete", queue: Sync, sent: Always, about: About::PROGRAM, stop: None,
        text: |f, thread| f.write_str("Attached"),
    }
    /// The client is detached. This is its last event.
    DetachComplete => {
        name: "detach_complete", queue: Sync, sent: Always, about: About::PROGRAM, stop: None,
        text: |f, thread| f.write_str("Detached"),
    }
    /// The [interval](crate::AttachOptions::timeout) since the last event of this kind has passed. A client may ignore
    /// this event.
    Timeout => {
        name: "timeout", queue: Async, sent: ByDefault, about: About::PROGRAM, stop: None,
        text: |f, thread| f.write_str("timeout"),
    }
    /// The debugger itself failed.
    InternalError {
        /// What failed.
        message: String,
    } => {
        name: "internal_error", queue: Async, sent: ByDefault, about: About::PROGRAM, stop: None,
        text: |f, thread| write!(f, "The debugger failed: {message}"),
    }
}

impl EventKind {
    /// Returns the run that the event is about, if there is one.
    pub fn run(&self) -> Option<RunId> {
        self.about().run
    }

    /// Returns where the run is, if the event is about a position in a run.
    pub fn position(&self) -> Option<&RunPosition> {
        self.about().position
    }

    /// Returns the breakpoints that stopped the run, if any did.
    pub fn breakpoints(&self) -> &[BreakpointId] {
        self.about().breakpoints
    }

    /// Returns whether the stopped run is at an operator and has its tensors. A run whose engine failed has none.
    pub(crate) fn is_at_operator(&self) -> bool {
        self.position().is_some() && self.stop_cause() != Some(StopCause::Failure)
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The error for a text that is not the name of a kind of events.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown event '{text}'; the events are {}", EventName::ALL.map(EventName::as_str).join(", "))]
pub struct UnknownEvent {
    /// The text.
    pub text: String,
}

impl FromStr for EventName {
    type Err = UnknownEvent;

    fn from_str(text: &str) -> Result<Self, UnknownEvent> {
        let known = Self::ALL.into_iter().find(|name| name.as_str() == text);
        known.ok_or_else(|| UnknownEvent { text: text.to_owned() })
    }
}

/// Displays the numbers of breakpoints with commas between them.
struct Numbers<'a>(&'a [BreakpointId]);

impl fmt::Display for Numbers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
    }
}
