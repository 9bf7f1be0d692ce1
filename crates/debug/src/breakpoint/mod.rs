//! Where and when a run stops.

mod live;
mod target;

use std::fmt;

use opscope_model::RunId;
use serde::{Deserialize, Serialize};

use crate::{ModelId, Moment};

pub(crate) use live::Breakpoint;
pub use target::{Target, TargetError, Watched};

/// The number of a breakpoint, from 1. Numbers are not used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BreakpointId(pub u32);

/// A breakpoint as it is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BreakpointSpec {
    /// On which operators.
    pub target: Target,
    /// Before or after them. None: after where the condition needs outputs (also [`Target::First`]), else before.
    #[serde(default)]
    pub moment: Option<Moment>,
    /// What must hold of the tensors there: see [`expression`](crate::expression). None: always.
    #[serde(default)]
    pub condition: Option<String>,
    /// Only in this run.
    #[serde(default)]
    pub run: Option<u64>,
    /// Whether it stops anything.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// How many hits still pass without a stop.
    #[serde(default)]
    pub ignore: u64,
    /// Whether it is gone after the first stop.
    #[serde(default)]
    pub one_shot: bool,
}

/// A breakpoint as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BreakpointInfo {
    /// Its number.
    pub id: BreakpointId,
    /// What was asked for, with what was changed since and the ignore count that is left.
    pub spec: BreakpointSpec,
    /// Before or after, as it was decided.
    pub moment: Moment,
    /// How often a run came here and the condition held, ignored hits among them.
    pub hits: u64,
    /// Where it went in the models that are loaded.
    pub locations: Vec<BreakpointLocation>,
    /// Why the condition could not be evaluated, when it was last tried; it then does not hold.
    #[serde(default)]
    pub trouble: Option<String>,
}

/// What a breakpoint's target is in one model: one operator of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BreakpointLocation {
    /// The model.
    pub model: ModelId,
    /// The operator's index in the graph.
    pub operator: u32,
    /// Its name in the file.
    pub name: String,
    /// What the engine made of it.
    #[serde(flatten)]
    pub fate: Fate,
}

/// What an engine made of an operator of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fate", rename_all = "snake_case")]
pub enum Fate {
    /// A step of its own.
    Kernel {
        /// The step of the plan.
        kernel: u32,
    },
    /// A part of a step that counts for another operator.
    Fused {
        /// The step of the plan.
        kernel: u32,
        /// The operator that the step counts for.
        into: String,
        /// Whether the engine says so; otherwise it was inferred from the graph.
        exact: bool,
    },
    /// Nothing is executed for it: it was computed when the model was loaded, or its result is not needed.
    Removed,
    /// No plan was made yet: it is known with the first run.
    Pending,
}

/// What can be changed of a breakpoint. What is none stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BreakpointChange {
    /// Whether it stops anything.
    #[serde(default)]
    pub enabled: Option<bool>,
    /// How many hits still pass without a stop.
    #[serde(default)]
    pub ignore: Option<u64>,
    /// The condition; an empty text takes it away.
    #[serde(default)]
    pub condition: Option<String>,
    /// Whether it is gone after the next stop.
    #[serde(default)]
    pub one_shot: Option<bool>,
}

impl BreakpointSpec {
    /// A breakpoint that always stops at its target.
    pub fn at(target: Target) -> Self {
        Self { target, moment: None, condition: None, run: None, enabled: true, ignore: 0, one_shot: false }
    }

    /// The same with a condition.
    #[must_use]
    pub fn when(self, condition: impl Into<String>) -> Self {
        Self { condition: Some(condition.into()), ..self }
    }

    /// Whether it watches this run.
    pub(crate) fn watches(&self, run: RunId) -> bool {
        self.run.is_none_or(|only| only == run.0)
    }
}

impl fmt::Display for BreakpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

fn yes() -> bool {
    true
}
