//! The types that operators can be lowered to.

use std::fmt;

use opscope_tensor::DType;
use serde::{Serialize, Serializer};

/// A type that takes fewer bits than float32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LowType {
    /// `float16`: 11 binary digits, up to 65504.
    Fp16,
    /// `bfloat16`: 8 binary digits, up to 3.39e38.
    Bf16,
    /// `int8` with a scale for each tensor, as ONNX Runtime's quantizer chooses it.
    Int8,
}

impl LowType {
    /// Every type.
    pub const ALL: [Self; 3] = [Self::Fp16, Self::Bf16, Self::Int8];

    /// Returns `fp16`, `bf16` or `int8`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fp16 => "fp16",
            Self::Bf16 => "bf16",
            Self::Int8 => "int8",
        }
    }

    /// Returns why it takes none of a model's operators.
    pub(super) fn takes_none(self) -> &'static str {
        match self {
            Self::Fp16 | Self::Bf16 => "none of them gives float32 numbers from the data of its inputs",
            Self::Int8 => "the quantizer takes none of the nodes that are in no body of another",
        }
    }

    /// Returns the floating-point type; `None` for integers.
    pub(super) fn float(self) -> Option<DType> {
        match self {
            Self::Fp16 => Some(DType::F16),
            Self::Bf16 => Some(DType::Bf16),
            Self::Int8 => None,
        }
    }

    /// Returns the largest relative error of rounding a number: in a floating-point type one that is neither too large
    /// nor too small, in integers the largest of a tensor.
    pub(super) fn rounding_unit(self) -> f64 {
        match self {
            Self::Fp16 => 2f64.powi(-11),
            Self::Bf16 | Self::Int8 => 2f64.powi(-8),
        }
    }
}

impl fmt::Display for LowType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for LowType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
