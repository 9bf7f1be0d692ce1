use std::fmt;

use serde::{Deserialize, Serialize};

use super::id::BreakpointId;

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
