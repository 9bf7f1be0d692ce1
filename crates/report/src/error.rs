use std::error::Error;
use std::io;
use std::path::PathBuf;

use opscope_dump::DumpError;
use opscope_onnx::OnnxError;
use opscope_profile::ProfileError;
use opscope_tensor::Digest;

/// Why a report cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A path is nothing that a report can be made from.
    #[error("{} {reason}; a report is made of recordings, dumps, summaries (NAME_summary.json), results of `opscope precision` and a run's output directory", path.display())]
    NotASource {
        /// The path.
        path: PathBuf,
        /// What is there instead.
        reason: String,
    },
    /// There are more runs than one page can show.
    #[error("there are {found} runs, and a page shows at most {most}; name those to show")]
    TooMany {
        /// How many runs the paths contain.
        found: usize,
        /// How many a page shows at most.
        most: usize,
    },
    /// A summary cannot be read.
    #[error("{} is not a summary that can be read: {reason}", path.display())]
    Summary {
        /// The file.
        path: PathBuf,
        /// What is there, and what would be right.
        reason: String,
    },
    /// The result of a search for precisions cannot be read.
    #[error("{} is not the result of `opscope precision` that can be read: {reason}", path.display())]
    Precision {
        /// The file.
        path: PathBuf,
        /// What is there, and what would be right.
        reason: String,
    },
    /// A recording cannot be read.
    #[error(transparent)]
    Recording(#[from] ProfileError),
    /// A dump cannot be read.
    #[error(transparent)]
    Dump(#[from] DumpError),
    /// A given model cannot be read.
    #[error(transparent)]
    Model(#[from] OnnxError),
    /// A given model belongs to none of the runs.
    #[error("{} (xxh3 {xxh3}) is the model of none of the runs; {expected}", path.display())]
    OtherModel {
        /// The model's file.
        path: PathBuf,
        /// The hash that identifies it.
        xxh3: Digest,
        /// The models of the runs.
        expected: String,
    },
    /// A chart cannot be drawn.
    #[error("a chart cannot be drawn: {0}")]
    Chart(#[source] Box<dyn Error + Send + Sync>),
    /// The page exists.
    #[error("{} exists and stays as it is; give --output another name", .0.display())]
    Exists(PathBuf),
    /// The page cannot be written.
    #[error("could not write {}: {source}", path.display())]
    Write {
        /// The page.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}
