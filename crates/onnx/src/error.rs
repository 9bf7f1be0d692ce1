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
    #[error("the data of tensor '{tensor}' in {path:?} cannot be used: {source}")]
    ExternalData {
        /// The model file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Why it cannot be used.
        source: ExternalDataError,
    },
}

/// Why data in a file beside the model cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalDataError {
    /// No location is given.
    #[error("it is external, but no location is given")]
    NoLocation,
    /// The offset or the length is no number.
    #[error("its {key} '{text}' is not a number of bytes")]
    NotANumber {
        /// `offset` or `length`.
        key: &'static str,
        /// What is given.
        text: String,
    },
    /// The location leads out of the model's directory.
    #[error("it lies at '{0}', which is outside of the model's directory")]
    Outside(String),
    /// The location is a link that leads out of the model's directory.
    #[error("'{0}' is a link that leads out of the model's directory")]
    LinkOutside(String),
    /// A file or a directory could not be found or read.
    #[error("{what}: {source}")]
    Io {
        /// The location in quotes, or what else could not be read.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// The location is not a regular file.
    #[error("'{location}' is not a regular file but {kind}")]
    NotAFile {
        /// The location.
        location: String,
        /// What is there, such as `a directory`.
        kind: &'static str,
    },
    /// The length is not that of the tensor.
    #[error("its length is given as {given} bytes, its shape needs {needed}")]
    Length {
        /// The length in bytes that is given.
        given: u64,
        /// The tensor's size in bytes.
        needed: u64,
    },
    /// The file ends before the tensor does.
    #[error("it needs {needed} bytes from {offset} on, '{location}' has {found} bytes")]
    TooShort {
        /// The location.
        location: String,
        /// The tensor's size in bytes.
        needed: u64,
        /// Where the tensor begins.
        offset: u64,
        /// The size of the file in bytes.
        found: u64,
    },
}

impl ExternalDataError {
    /// Returns a function that adds to the system's error what could not be read.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}
