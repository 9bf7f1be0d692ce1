//! Slices: a part of a tensor, chosen as in numpy's basic slicing.

mod gather;
mod parse;
mod region;

use std::fmt;

use crate::{Tensor, TensorError, TensorView};
pub use region::Region;

/// A slice of a tensor: an entry for each of its first axes, as in `[0, :4]`, `[..., -1]` or `[::-2]`. Axes without an
/// entry are taken whole.
///
/// `FromStr` reads it from text and `Display` writes it, both with the brackets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Slice {
    axes: Vec<Axis>,
}

/// What is taken of one axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Axis {
    /// One index. A negative number counts from the end. The result does not have this axis.
    Index(i64),
    /// Every `step`-th index from `start` up to but not including `stop`. Negative numbers count from the end, and
    /// indices outside the axis are ignored.
    Range {
        /// The first index. If it is missing, the range begins at the first index, or at the last one if `step` is
        /// negative.
        start: Option<i64>,
        /// The end, which is not included. If it is missing, the range extends to the end of the axis, or to its
        /// beginning if `step` is negative.
        stop: Option<i64>,
        /// The distance from one index to the next. Never 0.
        step: i64,
    },
    /// As many whole axes as the other entries leave.
    Ellipsis,
}

/// Why a slice is not valid, or does not fit a tensor.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SliceError {
    /// The text is not a slice.
    #[error("'{found}' at character {} of a slice is wrong: {expected} would be right", .at + 1)]
    Syntax {
        /// The number of characters before the error.
        at: usize,
        /// What was found.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
    /// The step of a range is 0.
    #[error("the step of a range is 0; it says how far it is to the next place, and is 1 if it is left out")]
    StepZero,
    /// There is more than one ellipsis.
    #[error("'...' is there twice; how many axes each stands for cannot be known")]
    TwoEllipses,
    /// The tensor has fewer axes than the slice.
    #[error("the slice has entries for {entries} axes, and the tensor of shape {shape:?} has {}", .shape.len())]
    TooManyAxes {
        /// The slice's entries.
        entries: usize,
        /// The tensor's shape.
        shape: Vec<usize>,
    },
    /// An index is outside of the tensor.
    #[error("index {index} is outside of axis {axis}, whose size is {size}{}", right(*.size))]
    OutOfRange {
        /// The axis, from 0.
        axis: usize,
        /// Its size.
        size: usize,
        /// The index.
        index: i64,
    },
    /// The slice chooses more elements than the caller accepts at once.
    #[error(
        "the slice chooses {elements} elements, and at most {most} are given at once; choose fewer, or ask for pages"
    )]
    TooMany {
        /// The number of elements chosen.
        elements: usize,
        /// The most elements that the caller accepts.
        most: usize,
    },
    /// The tensor's data cannot be read.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

fn right(size: usize) -> String {
    match size {
        0 => "; it has no places".to_owned(),
        1 => "; 0 and -1 are right".to_owned(),
        _ => format!("; {} to {} are right, and -{size} to -1 from the end", 0, size - 1),
    }
}

impl Slice {
    /// Returns the slice of the whole tensor: `[...]`.
    pub fn all() -> Self {
        Self { axes: vec![Axis::Ellipsis] }
    }

    /// Creates a slice of these entries.
    ///
    /// # Errors
    /// Returns an error if a step is 0, or if there is more than one ellipsis.
    pub fn new(axes: impl Into<Vec<Axis>>) -> Result<Self, SliceError> {
        let axes = axes.into();
        if axes.iter().any(|axis| matches!(axis, Axis::Range { step: 0, .. })) {
            return Err(SliceError::StepZero);
        }
        if axes.iter().filter(|axis| matches!(axis, Axis::Ellipsis)).count() > 1 {
            return Err(SliceError::TwoEllipses);
        }
        Ok(Self { axes })
    }

    /// Returns the entries.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Returns the region that the slice chooses in a tensor of this shape.
    ///
    /// # Errors
    /// Returns an error if the tensor has fewer axes than the slice has entries, if an index is outside of its axis, or
    /// if the shape has more elements than can be addressed.
    pub fn resolve(&self, shape: &[usize]) -> Result<Region, SliceError> {
        Region::new(self, shape)
    }

    /// Returns a contiguous copy of the chosen elements, which may be at most `most`.
    ///
    /// # Errors
    /// The same as [`resolve`](Self::resolve). Also returns an error if more elements are chosen, or if the tensor's
    /// data cannot be read.
    pub fn of(&self, tensor: &TensorView<'_>, most: usize) -> Result<Tensor, SliceError> {
        let region = self.resolve(tensor.shape())?;
        match region.elements() {
            elements if elements > most => Err(SliceError::TooMany { elements, most }),
            _ => Ok(region.copy(tensor)?),
        }
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (number, axis) in self.axes.iter().enumerate() {
            write!(f, "{}{axis}", if number > 0 { ", " } else { "" })?;
        }
        f.write_str(if self.axes.is_empty() { "...]" } else { "]" })
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |number: &Option<i64>| number.map(|number| number.to_string()).unwrap_or_default();
        match self {
            Axis::Index(index) => write!(f, "{index}"),
            Axis::Range { start, stop, step: 1 } => write!(f, "{}:{}", number(start), number(stop)),
            Axis::Range { start, stop, step } => write!(f, "{}:{}:{step}", number(start), number(stop)),
            Axis::Ellipsis => f.write_str("..."),
        }
    }
}
