//! What `opscope benchmark` does: runs a model many times, takes the times, and captures what happens.
//!
//! [`Job`] says what to do, [`Job::run`] does it, and [`Report`] is the result.

mod acl;
mod error;
mod instruments;
mod job;
mod latency;
mod measure;
mod not_finite;
mod output;
mod report;
mod run;

pub use acl::{apply as apply_acl_json, apply_to_program as apply_acl_json_to_program};
pub use error::JobError;
pub use instruments::InstrumentError;
pub use job::{CaptureSpec, Goal, Job, JobHooks, OutputFormat, OutputNames, OutputSpec, Repetition, Stage, TakenName};
pub use latency::Latency;
pub use measure::MeasureError;
pub use not_finite::{NotFinite, NotFiniteOutput};
pub use opscope_profile::median_interval;
pub use output::{
    ForeignReason, KeptCapture, NoRecording, OutputPathError, StoredRun, UnfinishedError, UnfinishedOutput,
    remove_unfinished_outputs, unfinished_outputs,
};
pub use report::{
    DebuggerSummary, DumpSummary, FailedShapes, FileInfo, InputSummary, Measured, MemorySummary, ModelSummary,
    ProfileSummary, Report, ShapeTimes,
};
