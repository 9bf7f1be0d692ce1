use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A dump or a recording that a program of sessions makes of the next run of one of them, beside it. It is what a client
/// wants with the request `instrument`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// What is made.
    pub capture: CaptureKind,
    /// The directory that is made, by its absolute path. It does not exist.
    pub directory: PathBuf,
    /// The file into which the program writes a [`CaptureNote`] when it is done, by its absolute path.
    pub note: PathBuf,
}

/// What is made of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaptureKind {
    /// A dump of every operator's tensors.
    Dump,
    /// A recording of some runs.
    Profile,
    /// Nothing: what was asked for with the same note is not wanted any more, if it has not begun.
    Nothing,
}

/// What became of a capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureNote {
    /// The model of the session, as the program names it.
    pub model: String,
    /// Why there is no capture, or not all of it.
    pub error: Option<String>,
}
