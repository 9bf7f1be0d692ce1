//! Compares tensors with those of another dump: two dumps on disk, or runs with the kept tensors of earlier ones.

mod criteria;
mod diverge;
mod divergence_text;
mod elements;
mod mapping;
mod matching;
mod model_inputs;
mod noise;
mod programs;
mod render;
mod rounding;
mod row_record;
mod sets;
mod sink;
mod sqnr;
mod work;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use opscope_onnx::Graph;
use opscope_tensor::{DType, Difference};

use crate::{StoredDump, StoredOrigin};
pub use criteria::Tolerances;
pub use diverge::{Blame, Divergence, InputRow};
pub use elements::Summary;
pub use mapping::Mapping;
pub use matching::{MatchBy, MatchedBy};
pub use model_inputs::differing_initializers;
pub use noise::Noise;
pub use programs::{ModuleMap, WrongMap};
pub use render::Order;
pub use sets::InputSets;
pub use sink::{CompareSink, Comparer};
pub use sqnr::SqnrDrop;

/// Options of a comparison.
#[derive(Debug, Clone, Default)]
pub struct CompareOptions {
    /// The maximum distances of numbers.
    pub tolerances: Tolerances,
    /// A run in a wider type by which tensors are judged, instead of by a distance.
    pub noise: Option<Noise>,
    /// Whether one side may have run with a smaller batch. If tensors differ only in their first dimension, the samples
    /// that both have are compared.
    pub first_samples: bool,
    /// Pairs of names that belong together although they are different.
    pub mapping: Mapping,
    /// The names of the modules of a program in the reference.
    pub modules: ModuleMap,
    /// How to match tensors that the mapping does not match.
    pub match_by: MatchBy,
    /// Whether both sides ran with the same inputs of the model, even if their manifests do not say so.
    pub same_inputs: bool,
    /// The names of the initializers that differ.
    pub initializers: Vec<String>,
    /// The model, if it is known. It gives the order of operators and their inputs.
    pub graph: Option<Arc<Graph>>,
    /// The reference's model, if it is known. If this is `None` and both sides are dumps, `graph` is the model of both.
    pub reference_graph: Option<Arc<Graph>>,
    /// The names of the engines of the two sides, or `None` to use the name in the dump.
    pub engines: [Option<String>; 2],
    /// The smallest signal-to-noise ratio in decibels at which a tensor of a quantised model agrees with the
    /// original's; 10 if not given.
    pub least_sqnr: Option<f64>,
    /// The number of threads for comparing dumps on disk, or `None` for the number of processors, but at most four.
    pub threads: Option<NonZeroUsize>,
}

/// The differences between the tensors of a dump and of a reference.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The name of the dump.
    pub tensors: String,
    /// The name of the reference.
    pub reference: String,
    /// A row per pair, in the order of runs and of the graph.
    pub rows: Vec<Row>,
    /// Tensors that the reference does not have.
    pub only_in_tensors: Vec<StoredOrigin>,
    /// Tensors of the reference that were not compared.
    pub only_in_reference: Vec<StoredOrigin>,
    /// Tensors of one side that the other side does not compute, because its plan fuses operators.
    pub fused: Vec<StoredOrigin>,
    /// Tensors of one side that the other side does not compute, because only one of them is quantised.
    pub quantised_only: Vec<StoredOrigin>,
    /// Values of an exported model that the program does not compute in this form. What is computed from them was
    /// compared.
    pub only_in_export: Vec<StoredOrigin>,
    /// Tensors of the program that the exported model does not compute.
    pub only_in_program: Vec<StoredOrigin>,
    /// Whether one side is quantised and the other is not. Tensors are then judged by their signal-to-noise ratio.
    pub is_quantised: bool,
    /// Whether the reference is a directory of arrays, which may be any selection of tensors. Tensors that it lacks do
    /// not count as missing.
    pub is_selection: bool,
    /// The sets of inputs that were run, each as a list of files; empty if no model was run. A row's run is the number
    /// of its set.
    pub input_sets: Vec<Vec<PathBuf>>,
    /// The limitations of the comparison, one sentence each.
    pub notes: Vec<String>,
    /// The names of the initializers that differ.
    pub initializers: Vec<String>,
    /// The names of the model's inputs that differed in runs that were compared.
    pub inputs: Vec<String>,
    /// The first operator that diverges, with its inputs.
    pub divergence: Option<Divergence>,
    /// The tensors that could not be read, on either side.
    pub problems: Vec<String>,
}

/// A pair of tensors.
#[derive(Debug, Clone)]
pub struct Row {
    /// The tensor.
    pub place: StoredOrigin,
    /// The tensor of the reference that it was compared with.
    pub reference: StoredOrigin,
    /// How they were matched.
    pub matched_by: MatchedBy,
    /// The element types of the tensor and of the reference.
    pub dtypes: (Option<DType>, Option<DType>),
    /// The shapes of the tensor and of the reference.
    pub shapes: (Vec<usize>, Vec<usize>),
    /// The outcome.
    pub outcome: Outcome,
    /// How much noisier it is than the tensors that it was computed from, in a comparison with a quantised model.
    pub drop: Option<SqnrDrop>,
}

/// The outcome of comparing a pair.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Their numbers were compared.
    Compared {
        /// How far apart they are.
        difference: Difference,
        /// Whether that is within the tolerance.
        within: bool,
    },
    /// The shapes differ.
    Shapes,
    /// One of them has only statistics.
    Summarised(Summary),
    /// One of them could not be read, for this reason.
    Unreadable(String),
}

/// Whether a tensor agrees with the reference. A later variant outweighs an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It agrees.
    Same,
    /// Data for the decision is missing.
    Unknown,
    /// It differs.
    Different,
}

impl Comparison {
    /// Compares a dump with another one.
    pub fn of(tensors: &StoredDump, reference: &StoredDump, options: &CompareOptions) -> Self {
        work::compare(tensors, reference, options)
    }

    /// Returns the verdict on all tensors. A tensor that differs outweighs missing data.
    pub fn verdict(&self) -> Verdict {
        let complete = if self.is_complete() { Verdict::Same } else { Verdict::Unknown };
        self.rows.iter().map(Row::verdict).chain([complete]).max().unwrap_or(complete)
    }

    /// Returns whether there is at least one pair and every pair is within its tolerance. Tensors that only one side
    /// has are ignored: see [`is_complete`](Self::is_complete).
    pub fn is_same(&self) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(Row::is_within)
    }

    /// Returns whether every tensor of either side was compared. If the reference is a selection, only its tensors
    /// count. The output of a `Cast` that only one side has counts as compared, because it is another form of its
    /// input, and converters insert such operators.
    pub fn is_complete(&self) -> bool {
        let is_known = |row: &Row| row.verdict() != Verdict::Unknown;
        let is_cast = |place: &StoredOrigin| place.op_type.as_deref() == Some("Cast");
        (self.only_in_tensors.iter().all(is_cast) || self.is_selection)
            && self.only_in_reference.iter().all(is_cast)
            && self.problems.is_empty()
            && self.rows.iter().all(is_known)
    }
}

impl Row {
    /// Returns whether the tensor agrees with the reference.
    pub fn verdict(&self) -> Verdict {
        match &self.outcome {
            Outcome::Compared { within: true, .. } | Outcome::Summarised(Summary::Same) => Verdict::Same,
            Outcome::Compared { within: false, .. } | Outcome::Shapes | Outcome::Summarised(Summary::Different) => {
                Verdict::Different
            }
            Outcome::Summarised(Summary::Alike) | Outcome::Unreadable(_) => Verdict::Unknown,
        }
    }

    /// Returns whether the tensor is known to agree with the reference.
    pub fn is_within(&self) -> bool {
        self.verdict() == Verdict::Same
    }

    /// Returns the difference of the two, or `None` if they were not compared by their numbers.
    pub fn difference(&self) -> Option<&Difference> {
        match &self.outcome {
            Outcome::Compared { difference, .. } => Some(difference),
            _ => None,
        }
    }
}
