use std::io;
use std::path::PathBuf;

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The directory is not private to this user.
    #[error(
        "the debug server's socket cannot lie in {}: {reason}. A process that reaches it can see and change what the \
         program computes, so the directory must be this user's, and not a link",
        .directory.display()
    )]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The path of the socket is taken.
    #[error("the debug server's socket cannot be {}: {reason}", .path.display())]
    Taken {
        /// The path.
        path: PathBuf,
        /// What exists at the path.
        reason: String,
    },
    /// A system call failed.
    #[error("the debug server cannot {action} {}: {error}", .path.display())]
    System {
        /// The action that failed.
        action: &'static str,
        /// The socket or directory.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}
