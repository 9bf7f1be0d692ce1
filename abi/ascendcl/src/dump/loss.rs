use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a chunk does not reach its destination.
#[derive(Debug, thiserror::Error)]
pub enum Loss {
    #[error("there is no memory for a chunk of {}", .0.display())]
    Memory(PathBuf),
    #[error("no thread for the dump: {0}")]
    Thread(#[source] io::Error),
    #[error("the callback took nothing for {} s", .0.as_secs())]
    Patience(Duration),
    #[error("the callback was removed before the end of {}", .0.display())]
    CallbackGone(PathBuf),
    #[error("{} cannot be written: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
}
