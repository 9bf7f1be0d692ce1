use opscope_model::LoopIteration;
use opscope_onnx::{Attribute, Operator, SourceLine};
use opscope_tensor::Digest;
use opscope_tensor::{DType, Statistics};
use serde::{Deserialize, Serialize};

use crate::{Io, Origin};

/// The index's file name in a dump's directory.
pub const INDEX: &str = "index.jsonl";

/// A line of `index.jsonl`: one tensor of a dump.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexLine {
    /// The run, or null for a value that is the same in every run.
    pub run: Option<u64>,
    /// The operator's name.
    pub operator: String,
    /// The operator's type.
    pub op_type: String,
    /// The operator's display name, such as `layers.0.attn (MatMul #2)`, if the ONNX file says in which module it lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// The path of the innermost module that the operator lies in, if the ONNX file says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// That module's class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The line of the program that called the operator, if the ONNX file says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceLine>,
    /// The phase of a training step in which it was computed, such as `backward`, if the program was watched while it
    /// ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// For an output of a program that was watched while it ran: the values that its operator took, by slot. Null where
    /// it is not known which value a tensor is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Option<String>>,
    /// The operator's position in the order of the graph, from 0. Dumps of earlier versions do not have it.
    #[serde(default)]
    pub position: Option<usize>,
    /// For an operator in a loop, the iterations of the loops around it, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub iterations: Vec<LoopIteration>,
    /// `input` or `output`.
    pub io: String,
    /// The operator's slot.
    pub slot: usize,
    /// The value's name in the ONNX file.
    pub value: String,
    /// The element type, such as `float32`.
    pub dtype: DType,
    /// The shape.
    pub shape: Vec<usize>,
    /// The file, relative to the index. Null if the dump has only statistics.
    pub file: Option<String>,
    /// The size of the tensor in bytes, without a header.
    pub bytes: u64,
    /// XXH3 (64 bit) of those bytes, as 16 hexadecimal digits. Null if a device has computed the statistics without a
    /// hash. For a partial tensor this and the following numbers are null.
    pub xxh3: Option<Digest>,
    /// The smallest finite element, or null if there is none.
    pub min: Option<f64>,
    /// The largest finite element, or null if there is none.
    pub max: Option<f64>,
    /// The mean of the finite elements, or null if there is none.
    pub mean: Option<f64>,
    /// The number of NaN elements.
    pub nan: Option<u64>,
    /// The number of infinite elements, of either sign.
    pub inf: Option<u64>,
    /// How much of the tensor there is.
    pub state: State,
}

/// How much of a tensor a dump holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// All of it, in an `.npy` file.
    Complete,
    /// All of it, as raw bytes in a `.bin` file, because the npy format does not have the type.
    Raw,
    /// Only its statistics.
    Statistics,
    /// Only its beginning. The file's name ends in `.partial`.
    Partial,
}

impl IndexLine {
    pub(crate) fn new(origin: &Origin, dtype: DType, shape: &[usize], bytes: u64, state: State) -> Self {
        let operator = origin.operator();
        let module = operator.origin.as_ref().and_then(|origin| origin.module());
        Self {
            run: origin.run.map(|run| run.0),
            operator: operator.name.clone(),
            op_type: operator.op_type.clone(),
            display_name: operator
                .origin
                .as_ref()
                .filter(|_| module.is_some())
                .map(|origin| origin.display_name.clone()),
            module: module.map(|module| module.path.clone()),
            class: module.map(|module| module.class.clone()).filter(|class| !class.is_empty()),
            source: operator.origin.as_ref().and_then(|origin| origin.source.clone()),
            phase: phase_of(operator),
            inputs: inputs_of(origin),
            position: Some(operator.id.index()),
            iterations: origin.iterations(),
            io: origin.io.name().into(),
            slot: origin.slot,
            value: origin.value_name().into(),
            dtype,
            shape: shape.to_vec(),
            file: None,
            bytes,
            xxh3: None,
            min: None,
            max: None,
            mean: None,
            nan: None,
            inf: None,
            state,
        }
    }

    pub(crate) fn with_statistics(self, statistics: &Statistics) -> Self {
        let IndexStatistics { xxh3, min, max, mean, nan, inf } = IndexStatistics::from(statistics);
        Self { xxh3, min, max, mean, nan: Some(nan), inf: Some(inf), ..self }
    }
}

/// The attribute of an operator of an open model that says in which phase of a step it is executed.
pub const PHASE: &str = "phase";

/// Returns the phase of an operator of an open model.
pub(crate) fn phase_of(operator: &Operator) -> Option<String> {
    match operator.attributes.get(PHASE) {
        Some(Attribute::String(phase)) => Some(phase.clone()),
        _ => None,
    }
}

/// Returns the names of the inputs of an operator of an open model. Other models are in files, which have them.
pub(crate) fn inputs_of(origin: &Origin) -> Vec<Option<String>> {
    if origin.graph.part.is_none() || origin.io == Io::Input {
        return Vec::new();
    }
    let name = |value: &Option<_>| value.map(|value| origin.graph.value(value).name.clone());
    origin.operator().inputs.iter().map(name).collect()
}

/// The statistics of a tensor in an index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexStatistics {
    /// XXH3 (64 bit) of the data, as 16 hexadecimal digits. `None` if a device has computed the statistics.
    pub xxh3: Option<Digest>,
    /// The smallest finite element.
    pub min: Option<f64>,
    /// The largest finite element.
    pub max: Option<f64>,
    /// The mean of the finite elements.
    pub mean: Option<f64>,
    /// The number of NaN elements.
    pub nan: u64,
    /// The number of infinite elements.
    pub inf: u64,
}

impl From<&Statistics> for IndexStatistics {
    fn from(statistics: &Statistics) -> Self {
        let finite = |number: Option<f64>| number.filter(|number| number.is_finite());
        Self {
            // A device that computes statistics gives no hash, which is 0.
            xxh3: (statistics.xxh3 != Digest(0)).then_some(statistics.xxh3),
            min: finite(statistics.min),
            max: finite(statistics.max),
            mean: finite(statistics.mean),
            nan: statistics.nan,
            inf: statistics.positive_infinite + statistics.negative_infinite,
        }
    }
}
