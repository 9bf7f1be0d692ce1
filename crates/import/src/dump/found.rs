//! What a dump of another tool has: its tensors, and where their data is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use opscope_dump::Io;
use opscope_onnx::SourceLine;
use opscope_tensor::npz::Npz;
use opscope_tensor::{DType, Statistics};

/// A tensor of a dump of another tool.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// The run, if the dump tells runs apart.
    pub run: Option<u64>,
    /// What computed it or took it.
    pub place: Place,
    /// Whether it is an input or an output.
    pub io: Io,
    /// Its slot.
    pub slot: usize,
    /// The name of the value.
    pub value: String,
    /// What the dump has of it.
    pub content: Content,
}

/// The operator, module or function that a tensor belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its name.
    pub name: String,
    /// Its type.
    pub op_type: String,
    /// The path and class of the module that it is, or lies in.
    pub module: Option<(String, String)>,
    /// The phase of a step, such as `backward`, if the dump tells phases apart.
    pub phase: Option<&'static str>,
    /// The line of the program that called it.
    pub source: Option<SourceLine>,
}

/// What a dump has of a tensor.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// Its elements.
    Elements(DType, Vec<usize>, Data),
    /// Its statistics.
    Statistics(DType, Vec<usize>, Statistics),
    /// Nothing, for this reason.
    Missing(String),
}

/// Where the elements of a tensor are.
#[derive(Debug, Clone)]
pub(crate) enum Data {
    /// In an `.npy` file.
    Npy(PathBuf),
    /// In an array of an archive.
    Npz(Arc<Npz>, String),
    /// In a file, as they are in memory.
    Span(Span),
    /// An `.npy` file of a few KiB.
    Bytes(Arc<[u8]>),
    /// In a file, as an `.npy` file in base64.
    Base64 {
        /// The file.
        path: Arc<Path>,
        /// Where the text begins.
        offset: u64,
        /// How long it is.
        length: u64,
    },
}

/// Elements in a file, little-endian.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    /// The file.
    pub path: Arc<Path>,
    /// Where the first element is.
    pub offset: u64,
    /// The number of bytes from there to the last element.
    pub bytes: u64,
    /// How far apart the elements are in each dimension, in elements. `None` if they are row-major without gaps.
    pub strides: Option<Vec<u64>>,
}

/// A set of tensors that becomes one dump: what one rank has.
#[derive(Debug, Default)]
pub(crate) struct Rank {
    /// The number of the rank, if the dump tells ranks apart.
    pub number: Option<u64>,
    /// Its tensors, in the order in which they were computed, as far as the dump says so.
    pub tensors: Vec<Found>,
    /// What could not be read, in sentences.
    pub problems: Vec<String>,
}

/// The type of a tensor, its shape, and where its elements are.
pub(crate) type Elements = (DType, Vec<usize>, Data);

/// Why a tensor or a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unreadable(pub String);

impl Unreadable {
    /// Makes the reason of an error.
    pub fn of(error: impl std::error::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<Unreadable> for String {
    fn from(Unreadable(reason): Unreadable) -> Self {
        reason
    }
}

impl From<String> for Unreadable {
    fn from(reason: String) -> Self {
        Self(reason)
    }
}

impl From<&str> for Unreadable {
    fn from(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}
