use std::io;
use std::path::PathBuf;

/// Why a file is not a graph that can run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OnnxError {
    /// The file could not be read.
    #[error("the model {path:?} cannot be read: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something other than a regular file.
    #[error("the model {path:?} is not a regular file but {kind}")]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What is there: `a directory`.
        kind: &'static str,
    },
    /// Nothing in it.
    #[error("the model {0:?} is empty; an .onnx file was expected")]
    Empty(PathBuf),
    /// A model that was converted for one vendor's hardware.
    #[error(
        "{0:?} is an offline model (.om) for one vendor's hardware; pass the .onnx file that it was converted from"
    )]
    OfflineModel(PathBuf),
    /// Not ONNX, or only a part of it.
    #[error("{path:?} is not an ONNX model, or is cut short or damaged: {reason}")]
    NotOnnx {
        /// The file.
        path: PathBuf,
        /// Where reading ended.
        reason: String,
    },
    /// The graph in it makes no sense.
    #[error("the graph of {path:?} is not valid: {reason}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        reason: String,
    },
    /// Data beside the file that must not, or cannot, be read.
    #[error("the data of tensor '{tensor}' in {path:?} cannot be used: {reason}")]
    ExternalData {
        /// The model file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Why not.
        reason: String,
    },
}
