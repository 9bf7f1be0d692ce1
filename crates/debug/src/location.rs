use serde::{Deserialize, Serialize};

use crate::{ModelId, Place, Sequence};

/// Where a stopped run is, and what can be looked at there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Location {
    /// The event that stopped it.
    pub event: Sequence,
    /// The model.
    pub model: ModelId,
    /// Where.
    pub place: Place,
    /// What the engine executes there.
    pub kernel: KernelInfo,
    /// How many operators the model has, and how many steps the engine's plan.
    pub operators: u32,
    /// See [`operators`](Self::operators).
    pub kernels: u32,
    /// How many steps the engine executes the operator in, where the inputs and outputs here are the operator's own; none
    /// where they are those of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// The inputs by slot. After the operator, those that the engine kept.
    pub inputs: Vec<TensorInfo>,
    /// The outputs by slot.
    pub outputs: Vec<TensorInfo>,
    /// The inputs that are weights, in order.
    pub weights: Vec<TensorInfo>,
    /// The attributes of the operator: name and value as text.
    pub attributes: Vec<(String, String)>,
}

/// One step of an engine's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelInfo {
    /// The engine's name for the step.
    pub name: String,
    /// What it executes, in the engine's words.
    pub op: String,
    /// The operators of the file that it stands for; the first one is where its time counts.
    pub operators: Vec<FusedOperator>,
}

/// An operator that a step stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FusedOperator {
    /// Its index in the graph.
    pub operator: u32,
    /// Its name.
    pub name: String,
    /// Its type.
    pub op_type: String,
    /// Whether the engine says so; otherwise it was inferred from the graph.
    pub exact: bool,
}

/// A tensor at a stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorInfo {
    /// How it is called in commands: `input[0]`.
    pub reference: String,
    /// The value's name in the file, where it is one of the file's.
    pub value: Option<String>,
    /// The value of the file whose elements it holds in another shape or order, where it is not one as it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<String>,
    /// The type of its elements; none where the engine has a type of its own.
    pub dtype: Option<String>,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Whether its data can be looked at now.
    pub readable: bool,
    /// Whether it is the same in every run.
    pub constant: bool,
    /// Whether the debugger replaced it at this stop.
    pub replaced: bool,
}
