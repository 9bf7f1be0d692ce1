use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Why a client has no connection to a program, or lost it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// No process has this number.
    #[error("there is no process {0}; give the number of a running program")]
    NoSuchProcess(u32),
    /// The process has no socket.
    #[error(
        "process {pid} has no debug server: there is no {}; a program that can be attached to is started with \
         --debug-server, and one whose socket lies elsewhere is reached by the path that it printed",
        .tried.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" and no ")
    )]
    NoServer {
        /// The process.
        pid: u32,
        /// Where its socket could be.
        tried: Vec<PathBuf>,
    },
    /// The system cannot connect to the socket.
    #[error("{} cannot be reached: {error}", .path.display())]
    Unreachable {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        error: Arc<io::Error>,
    },
    /// The program does not accept connections.
    #[error(
        "{} cannot be reached: for a second the program has accepted no connection; it may be stopped (Ctrl-Z), and \
         `kill -CONT` with its number lets it continue",
        .path.display()
    )]
    NotAccepted {
        /// The socket.
        path: PathBuf,
    },
    /// The program is stopped by a signal.
    #[error(
        "{} cannot be reached: process {pid}, which listens there, is stopped (Ctrl-Z, SIGSTOP); `kill -CONT {pid}` lets \
         it continue, and then it can be attached to",
        .path.display()
    )]
    Stopped {
        /// The socket.
        path: PathBuf,
        /// The program's process.
        pid: u32,
    },
    /// The socket belongs to another user's process.
    #[error(
        "{}: user {listener} listens there, and you are user {own}; only your own programs can be attached to",
        .path.display()
    )]
    OtherUser {
        /// The socket.
        path: PathBuf,
        /// The user of that process, by number.
        listener: u32,
        /// The user of this process, by number.
        own: u32,
    },
    /// The system does not say which user's process listens at the socket.
    #[error("{}: {error}", .path.display())]
    UnknownUser {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        error: Arc<io::Error>,
    },
    /// The system has no file descriptor left for the connection.
    #[error("the connection to the program cannot be used: {0}")]
    Unusable(Arc<io::Error>),
    /// A request cannot be written as JSON.
    #[error("the request cannot be written: {0}")]
    Request(Arc<serde_json::Error>),
    /// The program does not answer.
    #[error("the program did not answer for {seconds} s; it may be stopped")]
    NoAnswer {
        /// How long the client has waited, in seconds.
        seconds: u64,
    },
    /// An answer does not fit its request.
    #[error("the program's answer is not understood: {0}")]
    Answer(Arc<dyn Error + Send + Sync>),
    /// A message does not follow the protocol.
    #[error("a message of the program is not understood: {0}")]
    Message(Arc<serde_json::Error>),
    /// The program closed the connection with this reason.
    #[error("{0}")]
    Bye(String),
    /// The program closed the connection.
    #[error("the program ended, or closed the connection")]
    Closed,
    /// The connection failed.
    #[error("the connection to the program broke off: {0}")]
    Broken(Arc<dyn Error + Send + Sync>),
    /// The client closed the connection.
    #[error("the connection to the program was closed from this side")]
    HungUp,
}
