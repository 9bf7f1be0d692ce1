//! What events say of tensors: what went wrong with one, and its statistics.

use std::fmt;

use opscope_tensor::{DType, Digest, Statistics};
use serde::{Deserialize, Serialize};

use super::id::{BreakpointId, ShortNumber};

/// What went wrong in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "exception", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Exception {
    /// An operator computed NaN or infinity from finite inputs, or is the first to take in such elements from outside
    /// of the run.
    NonFinite {
        /// The breakpoints that watch for it.
        breakpoints: Vec<BreakpointId>,
        /// The tensors with such elements that come from outside of the run, if the operator is the first to take them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        inputs: Vec<NonFiniteInput>,
        /// The outputs that have such elements.
        outputs: Vec<NonFinite>,
    },
    /// The engine failed.
    Engine {
        /// The engine's message.
        message: String,
        /// Whether it panicked. If so, it may be broken for later runs, too.
        #[serde(default, skip_serializing_if = "is_false")]
        panicked: bool,
    },
}

impl Exception {
    /// Returns the breakpoints that watch for it.
    pub(super) fn breakpoints(&self) -> &[BreakpointId] {
        match self {
            Exception::NonFinite { breakpoints, .. } => breakpoints,
            Exception::Engine { .. } => &[],
        }
    }
}

/// A tensor with NaN or infinity that enters a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NonFiniteInput {
    /// Where it comes from.
    pub origin: Origin,
    /// The value's name in the file, where the tensor is a value of the file.
    pub value: Option<String>,
    /// How many elements are NaN.
    pub nan: u64,
    /// How many elements are infinite, of either sign.
    pub infinite: u64,
}

/// The origin of a tensor that no operator of a run computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// It is an input of the run.
    Input,
    /// It is an initializer of the model's file.
    Initializer,
    /// It was computed when the model was loaded.
    Constant,
}

/// An output with NaN or infinity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NonFinite {
    /// The output's slot.
    pub slot: u32,
    /// The value's name in the file, where the output is a value of the file.
    pub value: Option<String>,
    /// How many elements are NaN.
    pub nan: u64,
    /// How many elements are infinite, of either sign.
    pub infinite: u64,
}

impl fmt::Display for NonFiniteInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.origin {
            Origin::Input => "the model's input",
            Origin::Initializer => "the initializer",
            Origin::Constant => "a constant",
        })?;
        write_counts(f, self.value.as_deref(), self.nan, self.infinite)
    }
}

impl fmt::Display for NonFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "output[{}]", self.slot)?;
        write_counts(f, self.value.as_deref(), self.nan, self.infinite)
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

fn write_counts(f: &mut fmt::Formatter<'_>, value: Option<&str>, nan: u64, infinite: u64) -> fmt::Result {
    if let Some(value) = value {
        write!(f, " {value}")?;
    }
    match (nan, infinite) {
        (nan, 0) => write!(f, " has {nan} NaN"),
        (0, infinite) => write!(f, " has {infinite} infinite"),
        (nan, infinite) => write!(f, " has {nan} NaN and {infinite} infinite"),
    }
}

/// The statistics of an output of an operator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputSummary {
    /// The output's slot.
    pub slot: u32,
    /// Its statistics; `None` for tensors without a byte form.
    pub statistics: Option<StatisticsSummary>,
}

/// Displays the range of the finite elements and the counts of the others. Empty if there are no statistics.
impl fmt::Display for OutputSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(statistics) = &self.statistics else { return Ok(()) };
        write!(f, ": output[{}]", self.slot)?;
        if let (Some(min), Some(max)) = (statistics.min, statistics.max) {
            write!(f, " {} to {}", ShortNumber(min), ShortNumber(max))?;
        }
        let infinite = statistics.positive_infinite + statistics.negative_infinite;
        for (count, what) in [(statistics.nan, "NaN"), (infinite, "infinite")] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}

/// The [`Statistics`] of a tensor in the form that is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatisticsSummary {
    /// The type of its elements.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<usize>,
    /// How many elements there are.
    pub count: u64,
    /// How many elements are NaN.
    pub nan: u64,
    /// How many elements are +infinity.
    pub positive_infinite: u64,
    /// How many elements are -infinity.
    pub negative_infinite: u64,
    /// How many elements are zero.
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
    pub xxh3: Digest,
}

impl StatisticsSummary {
    /// Makes a summary from the statistics of a tensor of this type and shape.
    pub fn new(dtype: DType, shape: &[usize], statistics: &Statistics) -> Self {
        Self {
            dtype,
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
            xxh3: statistics.xxh3,
        }
    }
}

#[cfg(test)]
mod tests {
    use opscope_tensor::Tensor;

    use super::*;

    #[test]
    fn a_summary_has_each_number_of_the_tensor_in_its_place() {
        let numbers = [1.0, -4.0, 0.0, 3.0, 3.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY];
        let tensor = Tensor::from_f32(vec![3, 3], &numbers).expect("nine numbers");
        let statistics = Statistics::of(&tensor.view()).expect("it has bytes");
        let summary = StatisticsSummary::new(DType::F32, &[3, 3], &statistics);
        assert_eq!((summary.dtype, &summary.shape[..], summary.count), (DType::F32, &[3, 3][..], 9));
        let counts = (summary.nan, summary.positive_infinite, summary.negative_infinite, summary.zeros);
        assert_eq!(counts, (1, 1, 2, 1));
        assert_eq!((summary.min, summary.max), (Some(-4.0), Some(3.0)));
        // The sum of the five finite elements is 3, and that of their squares is 35.
        let near = |number: Option<f64>, expected: f64| (number.expect("a number") - expected).abs() < 1e-12;
        assert!(near(summary.mean, 0.6), "{summary:?}");
        assert!(near(summary.std, 2.576_819_745_345_025_7), "{summary:?}");
        assert!(near(summary.l2, 5.916_079_783_099_616), "{summary:?}");
        let output = OutputSummary { slot: 2, statistics: Some(summary) };
        assert_eq!(output.to_string(), ": output[2] -4 to 3, 1 NaN, 3 infinite");
        assert_eq!(OutputSummary { slot: 2, statistics: None }.to_string(), "");
    }
}
