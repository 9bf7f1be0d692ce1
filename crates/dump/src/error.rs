use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use opscope_onnx::PatternError;

/// Why a dump cannot be taken or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DumpError {
    /// The system could not create, read or write a file or directory.
    #[error("{}: {what}: {source}", path.display())]
    Io {
        /// Its path.
        path: PathBuf,
        /// What failed.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A file or directory is not what it should be.
    #[error("{}: {source}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A pattern for names is invalid.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A list of runs is invalid.
    #[error("'{text}' is not a list of runs: {reason}. Right is, for example, 0|5-10|20")]
    Runs {
        /// The list as the user wrote it.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The model does not have an operator of this name.
    #[error("the model has no operator '{name}', which the selection names{}", there_is(.nearest))]
    NoSuchOperator {
        /// The name.
        name: String,
        /// The most similar name in the model.
        nearest: Option<String>,
    },
    /// The selection matches no tensor of the model.
    #[error("the selection matches nothing: it leaves out every tensor of the model's {operators} operators")]
    NothingSelected {
        /// How many operators the model has.
        operators: usize,
    },
    /// The selection matches no run.
    #[error("the selection matches nothing: there are {runs} runs, counted from 0, and it names none of them")]
    NoSuchRun {
        /// How many runs there are.
        runs: u64,
    },
    /// The position of a tensor, such as `input0`, is invalid.
    #[error("'{0}' is not a place of an operator; right is, for example, input0 or output1")]
    Position(String),
    /// Histograms were requested for a format that cannot hold them.
    #[error("a dump in the format {0} has no histograms; leave them out, or choose another format")]
    NoHistograms(&'static str),
    /// A table of comma-separated values is invalid.
    #[error("row {row} of the table is wrong: {reason}")]
    Table {
        /// The row, from 1.
        row: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A sink made a call that would wait for the sink itself.
    #[error("this would wait for the sink that calls it; call it from another thread")]
    FromWithin,
    /// A weight of the model's file could not be read.
    #[error("a weight of the model could not be read: {0}")]
    Weight(#[from] opscope_onnx::OnnxError),
    /// The values that were computed at load could not be read.
    #[error("the values that the engine computed when it loaded the model could not be read: {0}")]
    Constants(#[source] io::Error),
    /// No thread could be started.
    #[error("no thread could be started for the sink: {0}")]
    Thread(#[source] io::Error),
    /// A file of a dump could not be written.
    #[error("{} could not be written: {source}", path.display())]
    Write {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A tensor could not be stored until the other tensors of its operator are there.
    #[error("an operator's tensors wait for each other in {}, which cannot be written: {source}", directory.display())]
    Store {
        /// The directory for such tensors.
        directory: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A tensor that was stored could not be read.
    #[error("what waits for its operator's other tensors cannot be read: {0}")]
    Stored(#[source] io::Error),
    /// A [target](crate::ascend::ChunkTarget) refused a chunk of a file.
    #[error(transparent)]
    Target(Box<dyn Error + Send + Sync>),
}

impl DumpError {
    /// Returns a function that makes the error of the system one of a file.
    pub(crate) fn io(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io { path, what, source }
    }

    /// Returns the error that a file is not what it should be.
    pub(crate) fn file(path: &Path, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::File { path: path.to_path_buf(), source: source.into() }
    }
}

fn there_is(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; there is '{name}'")).unwrap_or_default()
}
