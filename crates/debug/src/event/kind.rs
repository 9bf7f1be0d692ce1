use std::sync::Arc;

use opscope_model::{Fidelity, RunId};
use serde::{Deserialize, Serialize};

use super::place::run;
use super::{EventName, ModelId, Place};
use crate::{BreakpointId, StatisticsSummary};

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
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
    },
    /// A model is gone.
    ModelUnloaded {
        /// Its number.
        model: ModelId,
    },
    /// A run was prepared.
    RunCreated {
        /// The run.
        #[serde(with = "run")]
        run: RunId,
        /// Its model.
        model: ModelId,
    },
    /// What belonged to a run is gone.
    RunDestroyed {
        /// The run.
        #[serde(with = "run")]
        run: RunId,
    },
    /// A run begins, on the thread that raised this event.
    RunPushed {
        /// The run.
        #[serde(with = "run")]
        run: RunId,
    },
    /// A run is over.
    RunPopped {
        /// The run.
        #[serde(with = "run")]
        run: RunId,
        /// Why it failed, if it did.
        error: Option<String>,
    },
    /// An operator is about to be executed.
    OperatorReady {
        /// Where.
        place: Place,
    },
    /// An operator was executed.
    OperatorFinished {
        /// Where.
        place: Place,
        /// Statistics of its outputs, where they were [asked for](crate::AttachOptions::statistics).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        outputs: Vec<OutputSummary>,
    },
    /// A run came to breakpoints.
    Breakpoint {
        /// Where.
        place: Place,
        /// Which.
        breakpoints: Vec<BreakpointId>,
    },
    /// A run has made the step that it was let go for.
    StepComplete {
        /// Where.
        place: Place,
    },
    /// A run stopped because the debugger asked it to.
    Paused {
        /// Where.
        place: Place,
    },
    /// Something went wrong in a run.
    Exception {
        /// The run.
        #[serde(with = "run")]
        run: RunId,
        /// Where it happened, where that is known.
        place: Option<Place>,
        /// What.
        exception: Exception,
    },
    /// The debugger was told everything that had happened before it came.
    AttachComplete,
    /// The program runs on without the debugger. The last event that it gets.
    DetachComplete,
    /// So many seconds have passed since the last one. Asks for nothing.
    Timeout,
    /// The debugger's own machinery failed in something.
    InternalError {
        /// What.
        message: String,
    },
}

/// What went wrong in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "exception", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Exception {
    /// An operator made NaN or infinity although its inputs had none, or is the first to take such elements from outside
    /// of the run.
    NonFinite {
        /// The breakpoints that watch for it.
        breakpoints: Vec<BreakpointId>,
        /// What has them that it is the first to take, and that no operator of the run has made.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        inputs: Vec<NonFiniteInput>,
        /// The outputs that have them.
        outputs: Vec<NonFinite>,
    },
    /// The engine failed.
    Engine {
        /// What it said.
        message: String,
    },
}

/// Something with NaN or infinity that enters a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NonFiniteInput {
    /// What it is.
    pub origin: Origin,
    /// The value's name in the file, where it is one of the file's.
    pub value: Option<String>,
    /// Elements that are not a number.
    pub nan: u64,
    /// Elements that are infinite, of either sign.
    pub infinite: u64,
}

/// Where a tensor comes from that no operator of a run makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The run is given it.
    Input,
    /// The model's file holds it.
    Initializer,
    /// It was computed when the model was loaded.
    Constant,
}

/// An output with NaN or infinity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NonFinite {
    /// The output's slot.
    pub slot: u32,
    /// The value's name in the file, where it is one of the file's.
    pub value: Option<String>,
    /// Elements that are not a number.
    pub nan: u64,
    /// Elements that are infinite, of either sign.
    pub infinite: u64,
}

/// An output of an operator, in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputSummary {
    /// The output's slot.
    pub slot: u32,
    /// Its statistics; none for tensors without a byte form.
    pub statistics: Option<StatisticsSummary>,
}

impl EventKind {
    /// Its name.
    pub fn name(&self) -> EventName {
        match self {
            EventKind::ModelLoaded { .. } => EventName::ModelLoaded,
            EventKind::ModelUnloaded { .. } => EventName::ModelUnloaded,
            EventKind::RunCreated { .. } => EventName::RunCreated,
            EventKind::RunDestroyed { .. } => EventName::RunDestroyed,
            EventKind::RunPushed { .. } => EventName::RunPushed,
            EventKind::RunPopped { .. } => EventName::RunPopped,
            EventKind::OperatorReady { .. } => EventName::OperatorReady,
            EventKind::OperatorFinished { .. } => EventName::OperatorFinished,
            EventKind::Breakpoint { .. } => EventName::Breakpoint,
            EventKind::StepComplete { .. } => EventName::StepComplete,
            EventKind::Paused { .. } => EventName::Paused,
            EventKind::Exception { .. } => EventName::Exception,
            EventKind::AttachComplete => EventName::AttachComplete,
            EventKind::DetachComplete => EventName::DetachComplete,
            EventKind::Timeout => EventName::Timeout,
            EventKind::InternalError { .. } => EventName::InternalError,
        }
    }

    /// Whether the run that it stops is at an operator, with its tensors. One whose engine failed is not any more.
    pub(crate) fn is_at_operator(&self) -> bool {
        let has_failed = matches!(self, EventKind::Exception { exception: Exception::Engine { .. }, .. });
        self.place().is_some() && !has_failed
    }

    /// The run that it tells of, where it tells of one.
    pub fn run(&self) -> Option<RunId> {
        match self {
            EventKind::RunCreated { run, .. }
            | EventKind::RunDestroyed { run }
            | EventKind::RunPushed { run }
            | EventKind::RunPopped { run, .. }
            | EventKind::Exception { run, .. } => Some(*run),
            other => other.place().map(|place| place.run),
        }
    }

    /// Where the run is that it tells of, where it tells of a place in a run.
    pub fn place(&self) -> Option<&Place> {
        match self {
            EventKind::OperatorReady { place }
            | EventKind::OperatorFinished { place, .. }
            | EventKind::Breakpoint { place, .. }
            | EventKind::StepComplete { place }
            | EventKind::Paused { place } => Some(place),
            EventKind::Exception { place, .. } => place.as_ref(),
            _ => None,
        }
    }
}
