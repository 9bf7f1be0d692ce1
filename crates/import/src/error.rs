use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why something could not be imported. Damage is no error: what lies before it is imported, and the result names it.
#[derive(Debug, Error)]
pub enum ImportError {
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, such as `read`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The format of a file is none that can be read.
    #[error("{}: {reason}", path.display())]
    Unknown {
        /// The file or directory.
        path: PathBuf,
        /// What it is instead, and what can be read.
        reason: String,
    },
    /// The recording could not be written.
    #[error(transparent)]
    Profile(#[from] opscope_profile::ProfileError),
    /// The dump could not be written.
    #[error(transparent)]
    Dump(#[from] opscope_dump::DumpError),
    /// The caller cancelled the import.
    #[error("the import was cancelled")]
    Cancelled,
}

impl ImportError {
    /// Returns a function that makes an error of reading or writing this file.
    pub(crate) fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// Makes the error of a file that cannot be understood.
    pub(crate) fn unknown(path: &Path, reason: impl Into<String>) -> Self {
        Self::Unknown { path: path.to_owned(), reason: reason.into() }
    }
}
