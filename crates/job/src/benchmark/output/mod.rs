//! The files that a job writes. They are written under a partial name beside their path, and renamed when they are
//! complete.

mod disk;
mod path;
mod run_paths;
mod stored_run;
mod tensors;
mod unfinished;

pub use disk::{ForeignReason, OutputPathError};
pub use stored_run::{NoRecording, StoredRun};
pub use unfinished::{KeptCapture, UnfinishedError, UnfinishedOutput, remove_unfinished_outputs, unfinished_outputs};

pub(super) use path::OutputPath;
pub(super) use run_paths::RunPaths;
pub(super) use tensors::{FileNames, OutputWriter};
