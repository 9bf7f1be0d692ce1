//! Breakpoints: where and when a run stops.
//!
//! Breakpoints as a client requests and sees them: how operators map to kernels, and why one cannot be set.

mod live_breakpoint;
mod target;

use opscope_model::RunId;
use serde::{Deserialize, Serialize};

use crate::event::{BreakpointId, ModelId, Moment};
use crate::expression::ConditionError;
pub(crate) use live_breakpoint::Breakpoint;
pub use target::{ProgramLine, Target, TargetError, Watched};

/// A breakpoint as a client requests it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BreakpointSpec {
    /// The operators at which it stops.
    pub target: Target,
    /// Whether it stops before or after them. `None`: after, if the condition needs outputs or the target is
    /// [`Target::First`]; else before.
    #[serde(default)]
    pub moment: Option<Moment>,
    /// The condition on the tensors there: see [`expression`](crate::expression). `None`: always stop.
    #[serde(default)]
    pub condition: Option<String>,
    /// The model in which it stops. `None`: every model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelId>,
    /// The run in which it stops. `None`: every run.
    #[serde(default)]
    pub run: Option<u64>,
    /// Whether it is enabled.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// How many more hits are ignored.
    #[serde(default)]
    pub ignore: u64,
    /// Whether it is removed after the first stop.
    #[serde(default)]
    pub one_shot: bool,
}

/// The state of a breakpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BreakpointInfo {
    /// Its number.
    pub id: BreakpointId,
    /// The requested breakpoint, with later changes and the remaining ignore count.
    pub spec: BreakpointSpec,
    /// Whether it stops before or after its operators.
    pub moment: Moment,
    /// How often a run reached it and the condition held, ignored hits included.
    pub hits: u64,
    /// Its operators in the models that are loaded.
    pub locations: Vec<BreakpointLocation>,
    /// Why the condition could not be evaluated, the last time that this happened. A failed evaluation counts as a
    /// condition that does not hold.
    #[serde(default)]
    #[serde(rename = "trouble")]
    pub condition_error: Option<String>,
}

/// An operator at which a breakpoint stops.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BreakpointLocation {
    /// The model.
    pub model: ModelId,
    /// The operator's index in the graph.
    pub operator: u32,
    /// Its name in the file.
    pub name: String,
    /// How it maps to the kernels of the engine.
    #[serde(flatten)]
    pub mapping: OperatorMapping,
}

/// A change of a breakpoint. Fields that are `None` stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BreakpointChange {
    /// Whether it is enabled.
    #[serde(default)]
    pub enabled: Option<bool>,
    /// How many more hits are ignored.
    #[serde(default)]
    pub ignore: Option<u64>,
    /// The condition; an empty text removes it.
    #[serde(default)]
    pub condition: Option<String>,
    /// Whether it is removed after the next stop.
    #[serde(default)]
    pub one_shot: Option<bool>,
}

impl BreakpointSpec {
    /// Returns this breakpoint with a change.
    pub(crate) fn changed(self, change: BreakpointChange) -> Self {
        Self {
            enabled: change.enabled.unwrap_or(self.enabled),
            ignore: change.ignore.unwrap_or(self.ignore),
            condition: change.condition.or(self.condition),
            one_shot: change.one_shot.unwrap_or(self.one_shot),
            ..self
        }
    }

    /// Returns a breakpoint that always stops at its target.
    pub fn at(target: Target) -> Self {
        Self {
            target,
            moment: None,
            condition: None,
            model: None,
            run: None,
            enabled: true,
            ignore: 0,
            one_shot: false,
        }
    }

    /// Returns the same breakpoint with a condition.
    #[must_use]
    pub fn when(self, condition: impl Into<String>) -> Self {
        Self { condition: Some(condition.into()), ..self }
    }

    /// Returns whether the breakpoint applies to this run.
    pub(crate) fn watches(&self, run: RunId) -> bool {
        self.run.is_none_or(|only| only == run.0)
    }
}

fn yes() -> bool {
    true
}

/// How an operator of the file maps to the kernels of an engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fate", rename_all = "snake_case")]
pub enum OperatorMapping {
    /// A kernel of its own.
    Kernel {
        /// The kernel's index in the plan.
        kernel: u32,
    },
    /// A part of a kernel that counts for another operator.
    Fused {
        /// The kernel's index in the plan.
        kernel: u32,
        /// The operator that the kernel counts for.
        into: String,
        /// Whether the engine states this; if not, it was inferred from the graph.
        exact: bool,
    },
    /// No kernel is executed for it: it was computed when the model was loaded, or its result is not needed.
    Removed,
    /// The engine has made no plan yet. It makes one for the first run.
    Pending,
}

/// Why a breakpoint cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BreakpointError {
    /// Its condition cannot be parsed. The message shows the position in the text.
    #[error("{0:#}")]
    Condition(ConditionError),
    /// It watches for elements that operators compute, but stops before the operators.
    #[error("what an operator computes is seen after it, not before; use 'after'")]
    FirstBefore,
    /// It watches for elements that operators compute, and also has a condition.
    #[error("'first' is a condition already; use a breakpoint on an operator for another one")]
    FirstWithCondition,
    /// Its condition reads outputs before they exist.
    #[error("'{condition}' asks for outputs, which do not exist before the operator; use 'after'")]
    OutputsBefore {
        /// The condition.
        condition: String,
    },
}
