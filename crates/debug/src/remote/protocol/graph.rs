use std::collections::BTreeMap;

use opscope_onnx::CodeOrigin;
use opscope_tensor::DType;
use opscope_tensor::Digest;
use serde::{Deserialize, Serialize};

use crate::breakpoint::OperatorMapping;
use crate::event::ModelId;

/// The answer to `model`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// Its number.
    pub model: ModelId,
    /// The graph's name in the file.
    pub name: String,
    /// The file.
    pub path: String,
    /// XXH3 (64 bit) of the file's bytes, in hexadecimal.
    pub xxh3: Digest,
    /// The program that wrote the file, where the file says so.
    pub producer: String,
    /// The version of each set of operators; ONNX's own is the empty name.
    pub opsets: BTreeMap<String, i64>,
    /// How many operators it has.
    pub operators: u32,
    /// How many initializers it has.
    pub initializers: u32,
    /// The inputs of a run.
    pub inputs: Vec<ValueInfo>,
    /// The outputs of a run.
    pub outputs: Vec<ValueInfo>,
}

/// The answer to `operators`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperatorRows {
    /// How many match the pattern.
    pub total: u64,
    /// Those that this answer lists.
    pub operators: Vec<OperatorRow>,
}

/// An operator in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperatorRow {
    /// Its index in the graph. Its line in the listing is one more.
    pub index: u32,
    /// Its name in the file.
    pub name: String,
    /// Its type.
    pub op_type: String,
    /// Its position in the program that the file was exported from, if the file has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<CodeOrigin>,
    /// How it maps to the kernels of the engine.
    #[serde(flatten)]
    pub mapping: OperatorMapping,
    /// The names of its inputs by slot; `None` for an omitted one.
    pub inputs: Vec<Option<String>>,
    /// Its outputs, in the same way.
    pub outputs: Vec<Option<String>>,
}

/// The answer to `operator`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperatorInfo {
    /// Its index in the graph.
    pub index: u32,
    /// Its name in the file.
    pub name: String,
    /// Its type.
    pub op_type: String,
    /// Its position in the program that the file was exported from, if the file has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<CodeOrigin>,
    /// The set of operators that the type belongs to; empty for ONNX's own.
    pub domain: String,
    /// How it maps to the kernels of the engine.
    #[serde(flatten)]
    pub mapping: OperatorMapping,
    /// Its attributes: name and value as text.
    pub attributes: Vec<(String, String)>,
    /// Its inputs by slot; `None` for an omitted one.
    pub inputs: Vec<Option<ValueInfo>>,
    /// Its outputs, in the same way.
    pub outputs: Vec<Option<ValueInfo>>,
    /// Values of the graph that a graph inside of it uses.
    pub captures: Vec<ValueInfo>,
}

/// The answer to `values`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueRows {
    /// How many the model has.
    pub total: u64,
    /// Those that this answer lists.
    pub values: Vec<ValueInfo>,
}

/// A value of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueInfo {
    /// Its name in the file.
    pub name: String,
    /// The type of its elements, where the file says so.
    pub dtype: Option<DType>,
    /// Its dimensions, where the file says so: numbers, names, or `?`.
    pub shape: Option<Vec<String>>,
    /// Where it comes from.
    pub producer: ProducerInfo,
    /// The operators that take it, by their indices.
    pub consumers: Vec<u32>,
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProducerInfo {
    /// It is an input of the model.
    Input,
    /// It is an initializer of the file.
    Initializer,
    /// It is computed by the operator with this index.
    Operator(u32),
}

/// The chain of operators that led to where a run is stopped, the latest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backtrace {
    /// The latest ones: as many as were requested, and no more than fit into an answer.
    pub frames: Vec<BacktraceFrame>,
    /// How many there are.
    #[serde(default)]
    pub total: u64,
}

/// An operator in a backtrace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BacktraceFrame {
    /// The operator's index in the graph. Its line in the listing is one more.
    pub operator: u32,
    /// Its name in the file.
    pub name: String,
    /// Its type.
    pub op_type: String,
    /// Its position in the program that the file was exported from, if the file has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<CodeOrigin>,
    /// The output of this operator that the operator of the preceding frame took; `None` in the first frame.
    pub value: Option<String>,
}

/// Lines of a model's listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceText {
    /// How many lines the listing has.
    pub total: u64,
    /// The first line that is given, from 1.
    pub line: u64,
    /// How many lines are given.
    pub lines: u64,
    /// The lines, each with a line feed at its end. They are sent in the attachment.
    #[serde(skip)]
    pub text: String,
}
