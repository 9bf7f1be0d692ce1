use std::io;
use std::path::PathBuf;

/// Why a file cannot be loaded as a graph.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OnnxError {
    /// The file could not be read.
    #[error("the model {path:?} cannot be read: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The path is not a regular file.
    #[error("the model {path:?} is not a regular file but {kind}")]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What is there, such as `a directory`.
        kind: &'static str,
    },
    /// The file is empty.
    #[error("the model {0:?} is empty; an .onnx file was expected")]
    Empty(PathBuf),
    /// The file is larger than a Protocol Buffers message can be.
    #[error(
        "the model {0:?} has 2 GiB or more, which no .onnx file has; larger models keep their weights in files beside it"
    )]
    TooLarge(PathBuf),
    /// The file is a model that was converted for one vendor's hardware.
    #[error(
        "{0:?} is an offline model (.om) for one vendor's hardware; pass the .onnx file that it was converted from"
    )]
    OfflineModel(PathBuf),
    /// The file is not ONNX, or is truncated or damaged.
    #[error("{path:?} is not an ONNX model, or is cut short or damaged: {reason}")]
    NotOnnx {
        /// The file.
        path: PathBuf,
        /// What was wrong, and where.
        reason: String,
    },
    /// The graph is not valid.
    #[error("the graph of {path:?} is not valid: {reason}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        reason: String,
    },
    /// A tensor's data in a separate file cannot be used.
    #[error("the data of tensor '{tensor}' in {path:?} cannot be used: {reason}")]
    ExternalData {
        /// The model file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Why it cannot be used.
        reason: String,
    },
}
