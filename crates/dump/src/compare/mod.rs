//! Comparing tensors with those of another dump: two dumps on disk, or runs with what was kept of earlier ones.

mod diverge;
mod mapping;
mod matching;
mod render;
mod sink;
mod work;

use std::num::NonZeroUsize;
use std::sync::Arc;

use opscope_onnx::Graph;
use opscope_tensor::{DType, Difference, Tolerance};

use crate::{Place, StoredDump};
pub use diverge::{Blame, Divergence, InputRow};
pub use mapping::Mapping;
pub use matching::MatchedBy;
pub use render::Order;
pub use sink::{CompareSink, Comparer};

/// How to compare.
#[derive(Debug, Clone, Default)]
pub struct CompareOptions {
    /// How far apart numbers may be.
    pub tolerances: Tolerances,
    /// Pairs of names that belong together although they differ.
    pub mapping: Mapping,
    /// The model, where it is known: it gives the order of operators, and which values each of them takes.
    pub graph: Option<Arc<Graph>>,
    /// Threads for comparing dumps on disk; none for as many as the machine has, up to four.
    pub threads: Option<NonZeroUsize>,
}

/// Tolerances by the type of the reference's elements.
#[derive(Debug, Clone, Default)]
pub struct Tolerances {
    /// For every type that is not listed; none for [`Tolerance::of`] the type.
    pub all: Option<Tolerance>,
    /// For single types.
    pub of: Vec<(DType, Tolerance)>,
}

/// How the tensors of a dump differ from a reference's.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// What was compared.
    pub tensors: String,
    /// With what.
    pub reference: String,
    /// A row per pair, in the order of runs and of the graph.
    pub rows: Vec<Row>,
    /// Tensors for which the reference has none.
    pub only_in_tensors: Vec<Place>,
    /// Tensors of the reference that were not compared.
    pub only_in_reference: Vec<Place>,
    /// The first row of operators that differs, with its inputs.
    pub divergence: Option<Divergence>,
    /// What could not be read, of either side.
    pub problems: Vec<String>,
}

/// A pair of tensors.
#[derive(Debug, Clone)]
pub struct Row {
    /// The tensor.
    pub place: Place,
    /// What in the reference it was compared with.
    pub reference: Place,
    /// How they were found to belong together.
    pub matched_by: MatchedBy,
    /// The types of the elements: the tensor's and the reference's.
    pub dtypes: (Option<DType>, Option<DType>),
    /// The shapes.
    pub shapes: (Vec<usize>, Vec<usize>),
    /// What came out.
    pub outcome: Outcome,
}

/// What came out of comparing a pair.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Their numbers were compared.
    Compared {
        /// How far they are apart.
        difference: Difference,
        /// Whether that is within the tolerance.
        within: bool,
    },
    /// The shapes differ.
    Shapes,
    /// One of them could not be read, for this reason.
    Unreadable(String),
}

impl Comparison {
    /// Compares a dump with another one.
    pub fn of(tensors: &StoredDump, reference: &StoredDump, options: &CompareOptions) -> Self {
        work::compare(tensors, reference, options)
    }

    /// Whether there is something to compare and all of it is within its tolerance. Tensors that only one side has do
    /// not count: see [`is_complete`](Self::is_complete).
    pub fn is_same(&self) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(Row::is_within)
    }

    /// Whether every tensor of either side was compared.
    pub fn is_complete(&self) -> bool {
        self.only_in_tensors.is_empty() && self.only_in_reference.is_empty() && self.problems.is_empty()
    }
}

impl Row {
    /// Whether the tensor is what the reference says.
    pub fn is_within(&self) -> bool {
        matches!(self.outcome, Outcome::Compared { within: true, .. })
    }

    /// How far apart they are, where that could be told.
    pub fn difference(&self) -> Option<&Difference> {
        match &self.outcome {
            Outcome::Compared { difference, .. } => Some(difference),
            _ => None,
        }
    }
}

impl Tolerances {
    /// The tolerance for a type.
    pub fn tolerance(&self, dtype: DType) -> Tolerance {
        let single = self.of.iter().find(|(of, _)| *of == dtype).map(|(_, tolerance)| *tolerance);
        single.or(self.all).unwrap_or_else(|| Tolerance::of(dtype))
    }
}
