//! Comparing tensors with those of another dump: two dumps on disk, or runs with what was kept of earlier ones.

mod diverge;
mod given;
mod initializers;
mod mapping;
mod matching;
mod render;
mod sink;
mod summary;
mod work;

use std::num::NonZeroUsize;
use std::sync::Arc;

use opscope_onnx::Graph;
use opscope_tensor::{DType, Difference, Tolerance, compared_in};

use crate::{StoredDump, StoredOrigin};
pub use diverge::{Blame, Divergence, InputRow};
pub use initializers::differing_initializers;
pub use mapping::Mapping;
pub use matching::{MatchBy, MatchedBy};
pub use render::Order;
pub use sink::{CompareSink, Comparer};
pub use summary::Summary;

/// How to compare.
#[derive(Debug, Clone, Default)]
pub struct CompareOptions {
    /// How far apart numbers may be.
    pub tolerances: Tolerances,
    /// Pairs of names that belong together although they differ.
    pub mapping: Mapping,
    /// How tensors that no pair of names joins are found to belong together.
    pub match_by: MatchBy,
    /// Whether both sides ran on the same inputs of the model, whatever their manifests say.
    pub same_inputs: bool,
    /// The initializers that are not the same on both sides, by name.
    pub initializers: Vec<String>,
    /// The model, where it is known: it gives the order of operators, and which values each of them takes.
    pub graph: Option<Arc<Graph>>,
    /// Threads for comparing dumps on disk; none for as many as the machine has, up to four.
    pub threads: Option<NonZeroUsize>,
}

/// Tolerances by the type in which elements are compared.
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
    pub only_in_tensors: Vec<StoredOrigin>,
    /// Tensors of the reference that were not compared.
    pub only_in_reference: Vec<StoredOrigin>,
    /// Tensors of one side that the other one does not compute, because its plan fuses operators.
    pub fused: Vec<StoredOrigin>,
    /// The initializers that are not the same on both sides, by name.
    pub initializers: Vec<String>,
    /// The inputs of the model that were not the same in runs that were compared, by name.
    pub inputs: Vec<String>,
    /// The first row of operators that differs, with its inputs.
    pub divergence: Option<Divergence>,
    /// What could not be read, of either side.
    pub problems: Vec<String>,
}

/// A pair of tensors.
#[derive(Debug, Clone)]
pub struct Row {
    /// The tensor.
    pub place: StoredOrigin,
    /// What in the reference it was compared with.
    pub reference: StoredOrigin,
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
    /// Of one of them there are only statistics.
    Summarised(Summary),
    /// One of them could not be read, for this reason.
    Unreadable(String),
}

/// Whether a tensor is what the reference says. A later one outweighs an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It is.
    Same,
    /// That cannot be told: data is missing.
    Unknown,
    /// It is not.
    Different,
}

impl Comparison {
    /// Compares a dump with another one.
    pub fn of(tensors: &StoredDump, reference: &StoredDump, options: &CompareOptions) -> Self {
        work::compare(tensors, reference, options)
    }

    /// Whether all tensors are the same. A tensor that is different outweighs data that is missing.
    pub fn verdict(&self) -> Verdict {
        let complete = if self.is_complete() { Verdict::Same } else { Verdict::Unknown };
        self.rows.iter().map(Row::verdict).chain([complete]).max().unwrap_or(complete)
    }

    /// Whether there is something to compare and all of it is within its tolerance. Tensors that only one side has do
    /// not count: see [`is_complete`](Self::is_complete).
    pub fn is_same(&self) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(Row::is_within)
    }

    /// Whether every tensor of either side was compared.
    pub fn is_complete(&self) -> bool {
        let is_known = |row: &Row| row.verdict() != Verdict::Unknown;
        self.only_in_tensors.is_empty()
            && self.only_in_reference.is_empty()
            && self.problems.is_empty()
            && self.rows.iter().all(is_known)
    }
}

impl Row {
    /// Whether the tensor is what the reference says.
    pub fn verdict(&self) -> Verdict {
        match &self.outcome {
            Outcome::Compared { within: true, .. } | Outcome::Summarised(Summary::Same) => Verdict::Same,
            Outcome::Compared { within: false, .. } | Outcome::Shapes | Outcome::Summarised(Summary::Different) => {
                Verdict::Different
            }
            Outcome::Summarised(Summary::Alike) | Outcome::Unreadable(_) => Verdict::Unknown,
        }
    }

    /// Whether the tensor is known to be what the reference says.
    pub fn is_within(&self) -> bool {
        self.verdict() == Verdict::Same
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
    /// The tolerance for comparing a tensor and a reference of these types: that of the type in which their numbers are
    /// [compared](compared_in).
    pub fn tolerance(&self, tensor: DType, reference: DType) -> Tolerance {
        let dtype = compared_in(tensor, reference);
        let single = self.of.iter().find(|(of, _)| *of == dtype).map(|(_, tolerance)| *tolerance);
        single.or(self.all).unwrap_or_else(|| Tolerance::of(dtype))
    }
}
