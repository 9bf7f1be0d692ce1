//! What `opscope benchmark` does: runs a model many times, takes the times, and captures what happens.
//!
//! [`Job`] says what to do, [`Job::run`] does it, and [`Report`] is the result.

mod acl;
mod instruments;
mod job;
mod measure;
mod not_finite;
mod output;
mod report;
mod run;

use std::path::Path;

use opscope::SessionError;
use opscope_dump::DumpError;

use crate::inputs::InputError;
pub use acl::{apply as apply_acl_json, apply_to_program as apply_acl_json_to_program};
pub use instruments::InstrumentError;
pub use job::{CaptureSpec, Goal, Job, JobHooks, OutputFormat, OutputNames, OutputSpec, Repetition, Stage, TakenName};
pub use measure::MeasureError;
pub use not_finite::{NotFinite, NotFiniteOutput};
pub use opscope_profile::median_interval;
pub use output::{
    ForeignReason, KeptCapture, NoRecording, OutputPathError, StoredRun, UnfinishedError, UnfinishedOutput,
    remove_unfinished_outputs, unfinished_outputs,
};
pub use report::{
    DebuggerSummary, DumpSummary, FailedShapes, FileInfo, InputSummary, Latency, Measured, MemorySummary, ModelSummary,
    ProfileSummary, Report, ShapeTimes,
};

/// Why a job returns no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The model cannot be loaded.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The inputs cannot be used.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The results cannot be written to their path.
    #[error(transparent)]
    OutputPath(#[from] OutputPathError),
    /// An instrument cannot be used.
    #[error(transparent)]
    Instrument(#[from] InstrumentError),
    /// The dump cannot be estimated.
    #[error(transparent)]
    Estimate(DumpError),
    /// Tensors that should be dumped are not in the model.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Selection(Vec<DumpError>),
    /// A run failed.
    #[error("{source}{}", where_kept(.kept))]
    Measure {
        /// The reason.
        source: MeasureError,
        /// The directory of what was captured until then, if it is kept.
        kept: Option<Box<Path>>,
    },
    /// No run was measured.
    #[error("nothing was measured: it was ended before the first run was over{}", where_kept(.kept))]
    NoRuns {
        /// The directory of what was captured until then, if it is kept.
        kept: Option<Box<Path>>,
    },
}

fn where_kept(directory: &Option<Box<Path>>) -> String {
    directory
        .as_ref()
        .map(|directory| format!("; what was captured until then is in {directory:?}"))
        .unwrap_or_default()
}
