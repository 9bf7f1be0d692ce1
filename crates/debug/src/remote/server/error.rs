use std::io;
use std::path::PathBuf;

/// Why no server was started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The directory is not this user's alone.
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
    /// Something else has the path of the socket.
    #[error("the debug server's socket cannot be {}: {reason}", .path.display())]
    Taken {
        /// The path.
        path: PathBuf,
        /// What has it.
        reason: String,
    },
    /// A system call failed.
    #[error("the debug server cannot {action} {}: {error}", .path.display())]
    System {
        /// What the server wanted to do.
        action: &'static str,
        /// The socket or directory.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}
