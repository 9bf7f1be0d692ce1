use opscope_tensor::{DType, Statistics};
use serde::{Deserialize, Serialize};

/// Statistics of a tensor, as they are told: see [`Statistics`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatisticsSummary {
    /// The type of its elements.
    pub dtype: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// All elements.
    pub count: u64,
    /// Elements that are not a number.
    pub nan: u64,
    /// Elements that are +infinity.
    pub positive_infinite: u64,
    /// Elements that are -infinity.
    pub negative_infinite: u64,
    /// Elements that are zero.
    pub zeros: u64,
    /// The smallest finite element.
    pub min: Option<f64>,
    /// The largest finite element.
    pub max: Option<f64>,
    /// The mean of the finite elements.
    pub mean: Option<f64>,
    /// Their standard deviation.
    pub std: Option<f64>,
    /// The root of the sum of their squares.
    pub l2: Option<f64>,
    /// XXH3 (64 bit) of the bytes, in hexadecimal.
    pub xxh3: String,
}

impl StatisticsSummary {
    /// From the statistics of a tensor of this type and shape.
    pub fn new(dtype: DType, shape: &[usize], statistics: &Statistics) -> Self {
        Self {
            dtype: dtype.name().to_owned(),
            shape: shape.to_vec(),
            count: statistics.count,
            nan: statistics.nan,
            positive_infinite: statistics.positive_infinite,
            negative_infinite: statistics.negative_infinite,
            zeros: statistics.zeros,
            min: statistics.min,
            max: statistics.max,
            mean: statistics.mean,
            std: statistics.std,
            l2: statistics.l2,
            xxh3: format!("{:016x}", statistics.xxh3),
        }
    }
}
