//! The files that a job writes: written beside their path first, and renamed when they are whole.

mod path;
mod run_paths;
mod tensors;

pub use path::{OutputPathError, remove_unfinished_outputs};

pub(super) use path::OutputPath;
pub(super) use run_paths::RunPaths;
pub(super) use tensors::OutputWriter;
