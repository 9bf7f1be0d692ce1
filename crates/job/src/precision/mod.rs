//! Finds which operators of a model must stay in float32 when the others compute in a narrower type.
//!
//! [`PrecisionJob::run`] first looks at every operator on its own: one run of the reference, and one beside it in which
//! each operator computes in the narrower type from the reference's values. That gives the order in which operators are
//! suspected. Then sets of operators are tried, by whole runs, until a smallest one is found; the model with these
//! operators kept is written, and measured on inputs that the search did not see.

mod beginnings;
mod beside;
mod conversion;
mod course;
mod criterion;
mod errors;
mod journal;
mod limits;
mod low_type;
mod lowered_run;
mod measuring;
mod order;
mod quantised;
mod quantizer;
mod report;
mod report_text;
mod rounding;
mod search;
mod target;
mod trials;
mod written;

use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use opscope::SessionError;
use opscope::engine::EngineSpec;
use opscope_model::{EngineError, LoadBudget};
use opscope_onnx::{Graph, OnnxError, WriteError};

pub use self::criterion::Criterion;
pub use self::errors::Cause;
pub use self::low_type::LowType;
pub use self::quantizer::QuantizerError;
pub use self::report::{AllLow, HeldOut, KeptOperator, LookedAt, PrecisionReport};
pub use self::target::{InvalidTarget, Metric, Target};
use crate::inputs::{InputError, Inputs};

/// What is searched for, and with what.
#[derive(Debug)]
pub struct PrecisionJob {
    /// The model.
    pub graph: Arc<Graph>,
    /// The engine that runs it.
    pub engine: EngineSpec,
    /// Another engine, which shows how far two engines differ in float32. `None` means an optimised plan of the same one.
    pub other_engine: Option<EngineSpec>,
    /// Threads within an operator.
    pub threads: NonZeroUsize,
    /// What loading and planning may take.
    pub budget: LoadBudget,
    /// The type that operators are lowered to.
    pub to: LowType,
    /// A Python with ONNX Runtime's quantizer, for integers.
    pub python: PathBuf,
    /// The inputs. The search sees the first of them; the others are held out.
    pub inputs: Inputs,
    /// How many sets of inputs the search sees. `None` means half of them, at most 8.
    pub search_inputs: Option<NonZeroUsize>,
    /// When a model is good enough.
    pub criterion: Criterion,
    /// The directory for the results, which is created. A search of the same there goes on where it was.
    pub output: PathBuf,
    /// How long the search may take. It then ends with the best set so far.
    pub time: Option<Duration>,
}

/// What a search tells while it runs, and how it is ended.
#[derive(Default)]
pub struct PrecisionHooks<'a> {
    /// Ends the search with the best set so far, or without a result if none was found.
    pub cancelled: Option<&'a AtomicBool>,
    /// Is told what the search does.
    pub progress: Option<&'a dyn Fn(Progress)>,
}

/// What a search does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Looks at every operator on its own, on this set of inputs of so many.
    Operators(usize, usize),
    /// Measures how far two ways to compute in float32 differ.
    Noise,
    /// Tries a set of this many operators; the best so far has as many as the second number says.
    Trial(usize, usize),
    /// Measures the written file.
    HeldOut,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrecisionError {
    /// The model cannot be loaded.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The user ended the search before a set of operators was found.
    #[error("interrupted before a set of operators was found; the same command goes on where it was")]
    Cancelled,
    /// A run failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A set of inputs cannot be read, or does not fit the model.
    #[error(transparent)]
    Input(#[from] InputError),
    /// More sets of inputs are searched than there are.
    #[error("the search is to see {wanted} sets of inputs, and there are {found}")]
    TooFewInputs {
        /// Sets that the search is to see.
        wanted: usize,
        /// Sets that are given.
        found: usize,
    },
    /// No operator can be lowered.
    #[error("no operator of {model:?} can compute in {to}: {}", .to.takes_none())]
    NothingToLower {
        /// The model.
        model: PathBuf,
        /// The type.
        to: LowType,
    },
    /// The outputs cannot be measured.
    #[error("the metric {metric} cannot be measured: {reason}")]
    NoMetric {
        /// The metric.
        metric: Metric,
        /// Why.
        reason: &'static str,
    },
    /// The command that checks models refuses the original.
    #[error("the check fails for the original model, too: {0}")]
    OriginalFails(String),
    /// The command that checks models cannot be run.
    #[error("the check '{command}' cannot be run: {source}")]
    Check {
        /// The command.
        command: String,
        /// The system's error.
        source: io::Error,
    },
    /// The quantizer cannot be used, or has failed.
    #[error("ONNX Runtime's quantizer, run by {python:?}, failed: {source}")]
    Quantizer {
        /// The Python.
        python: PathBuf,
        /// Why.
        source: QuantizerError,
    },
    /// The model's file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The directory has the results of another search.
    #[error(
        "{0:?} holds another search: of another model, other inputs or another target; give another directory, or remove it"
    )]
    OtherSearch(PathBuf),
    /// The directory cannot be created, or a file in it cannot be written.
    #[error("{path:?} cannot be written: {source}")]
    Output {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The trials cannot be stored.
    #[error("the trials cannot be stored, and the best result so far is kept: {0}")]
    Journal(io::Error),
}

impl From<OnnxError> for PrecisionError {
    fn from(error: OnnxError) -> Self {
        Self::Session(error.into())
    }
}
