use opscope_tensor::{DType, Statistics};
use serde::{Deserialize, Serialize};

use crate::Origin;

/// The index's file name in a dump's directory.
pub const INDEX: &str = "index.jsonl";

/// A line of `index.jsonl`: one tensor of a dump.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexLine {
    /// The run; null for what is the same in every run.
    pub run: Option<u64>,
    /// The operator's name.
    pub operator: String,
    /// Its type.
    pub op_type: String,
    /// Its place in the order of the graph, from 0; dumps of earlier versions do not say it.
    #[serde(default)]
    pub position: Option<usize>,
    /// `input` or `output`.
    pub io: String,
    /// The operator's slot.
    pub slot: usize,
    /// The value's name in the ONNX file.
    pub value: String,
    /// The type of the elements: `float32`.
    pub dtype: String,
    /// The shape.
    pub shape: Vec<usize>,
    /// The file, relative to the index; null where only statistics were taken.
    pub file: Option<String>,
    /// The bytes of the tensor (without a header).
    pub bytes: u64,
    /// XXH3 (64 bit) of those bytes, as 16 hexadecimal digits. Null for a partial tensor, as the numbers after it.
    pub xxh3: Option<String>,
    /// The smallest finite element; null where there is none.
    pub min: Option<f64>,
    /// The largest finite element; null where there is none.
    pub max: Option<f64>,
    /// The mean of the finite elements; null where there is none.
    pub mean: Option<f64>,
    /// How many elements are NaN.
    pub nan: Option<u64>,
    /// How many elements are infinite, of either sign.
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
    /// All of it, as bare bytes in a `.bin` file: the npy format has no such type.
    Raw,
    /// Its statistics.
    Statistics,
    /// The beginning of it; the file's name ends in `.partial`.
    Partial,
}

impl IndexLine {
    pub(crate) fn new(origin: &Origin, dtype: DType, shape: &[usize], bytes: u64, state: State) -> Self {
        let operator = origin.operator();
        Self {
            run: origin.run.map(|run| run.0),
            operator: operator.name.clone(),
            op_type: operator.op_type.clone(),
            position: Some(operator.id.index()),
            io: origin.io.name().into(),
            slot: origin.slot,
            value: origin.value_name().into(),
            dtype: dtype.name().into(),
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
        Self { xxh3: Some(xxh3), min, max, mean, nan: Some(nan), inf: Some(inf), ..self }
    }
}

/// What an index says of a tensor's numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexStatistics {
    /// XXH3 (64 bit) of the data, as 16 hexadecimal digits.
    pub xxh3: String,
    /// The smallest finite element.
    pub min: Option<f64>,
    /// The largest finite element.
    pub max: Option<f64>,
    /// The mean of the finite elements.
    pub mean: Option<f64>,
    /// How many elements are NaN.
    pub nan: u64,
    /// How many are infinite.
    pub inf: u64,
}

impl From<&Statistics> for IndexStatistics {
    fn from(statistics: &Statistics) -> Self {
        let finite = |number: Option<f64>| number.filter(|number| number.is_finite());
        Self {
            xxh3: format!("{:016x}", statistics.xxh3),
            min: finite(statistics.min),
            max: finite(statistics.max),
            mean: finite(statistics.mean),
            nan: statistics.nan,
            inf: statistics.positive_infinite + statistics.negative_infinite,
        }
    }
}
