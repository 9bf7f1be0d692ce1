use std::io;
use std::path::PathBuf;

use opscope_profile::ProfileError;
use parquet::errors::ParquetError;

/// Why tables could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TablesError {
    /// The recording could not be read.
    #[error(transparent)]
    Recording(#[from] ProfileError),
    /// A file or a directory could not be created, written or renamed.
    #[error("could not {action} {}: {source}", path.display())]
    Io {
        /// `create`, `write`, ...
        action: &'static str,
        /// The file or the directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A table could not be written.
    #[error("the table could not be written: {0}")]
    Write(#[from] ParquetError),
}

impl TablesError {
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
