use opscope_onnx::CodeOrigin;
use opscope_tensor::DType;
use serde::{Deserialize, Serialize};

use crate::event::{ModelId, RunPosition, Sequence};

/// The location of a stopped run, and the tensors that it has there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Location {
    /// The event that stopped it.
    pub event: Sequence,
    /// The model.
    pub model: ModelId,
    /// Where.
    pub place: RunPosition,
    /// The operator's position in the program that the file was exported from, if the file has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<CodeOrigin>,
    /// The current kernel.
    pub kernel: KernelInfo,
    /// How many operators the model has.
    pub operators: u32,
    /// How many kernels the engine's plan has.
    pub kernels: u32,
    /// How many kernels the engine executes for the operator, if the inputs and outputs here are those of the operator;
    /// `None` if they are those of the kernel.
    #[serde(rename = "steps", default, skip_serializing_if = "Option::is_none")]
    pub operator_kernels: Option<u32>,
    /// Whether the engine executes an operator even if it is skipped, and then replaces its outputs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executes_skipped: bool,
    /// The inputs by slot.
    pub inputs: Vec<TensorInfo>,
    /// The outputs by slot.
    pub outputs: Vec<TensorInfo>,
    /// The inputs that are weights, in order.
    pub weights: Vec<TensorInfo>,
    /// The attributes of the operator: name and value as text.
    pub attributes: Vec<(String, String)>,
}

/// A kernel of an engine's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelInfo {
    /// The engine's name for it.
    pub name: String,
    /// What it executes, in the engine's words.
    pub op: String,
    /// The operators of the file that it stands for. Its time counts for the first one.
    pub operators: Vec<FusedOperator>,
}

/// An operator that a kernel stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FusedOperator {
    /// Its index in the graph.
    pub operator: u32,
    /// Its name.
    pub name: String,
    /// Its type.
    pub op_type: String,
    /// Whether the engine states this; if not, it was inferred from the graph.
    pub exact: bool,
}

/// A tensor at a stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorInfo {
    /// The reference to it in commands: `input[0]`.
    pub reference: String,
    /// The value's name, if it is a value of the file.
    pub value: Option<String>,
    /// If it is not itself a value of the file, the value whose elements it has in another shape or order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<String>,
    /// The type of its elements; `None` if the engine has a type of its own.
    pub dtype: Option<DType>,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Whether its data can be read now.
    pub readable: bool,
    /// Whether it is the same in every run.
    pub constant: bool,
    /// Whether the debugger replaced it at this stop.
    pub replaced: bool,
}
