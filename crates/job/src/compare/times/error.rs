use std::path::PathBuf;

use opscope_profile::ProfileError;

use super::summary_file::SummaryError;

/// Why a path is not a measurement.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoMeasurement {
    /// Nothing is there.
    #[error("it does not exist")]
    Missing,
    /// A directory of something else.
    #[error("it has no manifest of a recording")]
    NoManifest,
    /// A file that is too large for a summary.
    #[error(transparent)]
    TooLarge(std::io::Error),
    /// A file that is not a valid summary.
    #[error(transparent)]
    Summary(#[from] SummaryError),
}

/// Why times cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TimesError {
    /// A file could not be read.
    #[error("{path:?} cannot be read: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A recording could not be read.
    #[error(transparent)]
    Recording(#[from] ProfileError),
    /// There is neither a recording nor a summary.
    #[error(
        "{path:?} is neither a recording nor a summary: {reason}; give the directory of a recording, a file NAME_summary.json, or \
         the directory given to --output"
    )]
    Neither {
        /// The path.
        path: PathBuf,
        /// What was found.
        reason: NoMeasurement,
    },
    /// An output directory with several measurements.
    #[error("{path:?} has several measurements, give one of them: {}", found.join(", "))]
    Several {
        /// The directory.
        path: PathBuf,
        /// What is in it.
        found: Vec<String>,
    },
    /// A recording and a summary.
    #[error(
        "{a} and {b} cannot be compared: the profiler takes time of its own, and a summary has no time of each run of an operator; \
         give two recordings or two summaries"
    )]
    Kinds {
        /// The first.
        a: String,
        /// The second.
        b: String,
    },
    /// No measured run.
    #[error("there is no measured run on one of the sides, so nothing can be compared")]
    NoRuns,
    /// No operator has the same name on both sides.
    #[error(
        "{a} and {b} have no operator in common: the first is called {first_of_a:?} in A and {first_of_b:?} in B; operators are \
         compared by their names in the model's file, so both sides must be the same model, or versions of it"
    )]
    NothingInCommon {
        /// The first.
        a: String,
        /// The name of one of its operators.
        first_of_a: String,
        /// The second.
        b: String,
        /// The name of one of its operators.
        first_of_b: String,
    },
}
