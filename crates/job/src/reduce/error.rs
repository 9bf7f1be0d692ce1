//! Why there is no smaller model.

use std::io;
use std::path::PathBuf;

use opscope_onnx::OnnxError;

use super::fails::Fails;
use crate::inputs::InputError;

/// Why a model cannot be reduced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReduceError {
    /// The model does not fail in this way.
    #[error("{} does not fail in this way ('{fails}'): {instead}", model.display())]
    DoesNotFail {
        /// The model.
        model: PathBuf,
        /// The requested failure.
        fails: Fails,
        /// What happens instead.
        instead: String,
    },
    /// The file is not a model, and its bytes cannot be taken apart.
    #[error(transparent)]
    Model(#[from] OnnxError),
    /// The inputs do not fit the model.
    #[error(transparent)]
    Input(#[from] InputError),
    /// No part of the model fails.
    #[error(
        "no model that is written anew from {model:?} fails in the same way, not even one with all of its operators; what fails may \
         be in the file itself"
    )]
    NotReproducible {
        /// The model.
        model: PathBuf,
    },
    /// An output exists.
    #[error("{0:?} exists; give another --output, or --overwrite to replace it")]
    Exists(PathBuf),
    /// An output would replace what is read.
    #[error("{0:?} is the model itself; give another --output")]
    IsTheModel(PathBuf),
    /// A file cannot be written.
    #[error("{path:?} cannot be written: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A process cannot be started, or there is no place for temporary files.
    #[error("no model can be checked: {0}")]
    Check(io::Error),
    /// The written model does not fail in a new process.
    #[error("the model that was found does not fail in a new process, so nothing was written")]
    NotInANewProcess,
    /// The user ended the search before the failure was seen.
    #[error("interrupted before the model was seen to fail; nothing was written")]
    Cancelled,
}
