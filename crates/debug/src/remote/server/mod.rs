//! The program's side of the debug protocol.

mod connection;
mod requests;
mod service;
mod socket;

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::session::Debugger;
use service::{ServerControl, Service};
use socket::Socket;

/// The options of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerOptions {
    /// Where it listens.
    pub listen: Listen,
}

/// Where a server listens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Listen {
    /// At the path where a debugger looks for the process: `PID.sock` in `$XDG_RUNTIME_DIR/opscope`, or in
    /// `/tmp/opscope-UID`. The directory is made private to its user.
    #[default]
    ByProcess,
    /// At this path, in a directory that no other user can write to.
    At(PathBuf),
    /// Nowhere: only this process can connect.
    Nowhere,
}

/// The variable that makes a program wait for its debugger: the number of seconds, from 0.01 to 600.
const WAIT: &str = "OPSCOPE_DEBUG_WAIT";

/// A thread that serves debuggers over a Unix socket.
///
/// It serves only processes of the same user and of root. One debugger is attached at a time. It is detached when it
/// closes the connection or dies. Dropping the server also detaches it, and removes the socket. A program that is
/// killed leaves a socket, which the next server removes.
pub struct Server {
    control: Arc<ServerControl>,
    thread: Option<JoinHandle<()>>,
    socket: Option<Socket>,
    /// The process that runs the thread. A forked child has neither the thread nor the socket.
    process: u32,
}

impl Debugger {
    /// Starts a server, through which debuggers can attach until it is dropped, and
    /// [waits for one](Self::wait_for_debugger) if the environment says so.
    ///
    /// # Errors
    /// Returns an error if the socket cannot be made, or its directory is not safe.
    pub fn serve(&self, options: ServerOptions) -> Result<Server, ServeError> {
        let server = self.listen(options)?;
        self.wait_for_debugger();
        Ok(server)
    }

    /// Starts a server as [`serve`](Self::serve) does, but does not wait for a debugger.
    ///
    /// # Errors
    /// Returns an error if the socket cannot be made, or its directory is not safe.
    pub fn listen(&self, options: ServerOptions) -> Result<Server, ServeError> {
        let socket = match options.listen {
            Listen::ByProcess => Some(Socket::by_process()?),
            Listen::At(path) => Some(Socket::at(path)?),
            Listen::Nowhere => None,
        };
        let system = |action: &'static str| {
            let path = socket.as_ref().map(|socket| socket.path().to_owned()).unwrap_or_default();
            move |error: io::Error| ServeError::System { action, path, error }
        };
        let control = Arc::new(ServerControl::new().map_err(system("get a descriptor for"))?);
        let sleeper: Weak<ServerControl> = Arc::downgrade(&control);
        self.clock().register(sleeper);
        let listener = match &socket {
            Some(socket) => Some(socket.listener().map_err(system("listen at"))?),
            None => None,
        };
        let service = Service::new(self.clone(), listener, Arc::clone(&control));
        let thread = thread::Builder::new().name("opscope-debug-server".into()).spawn(move || service.run());
        let thread = thread.map_err(system("start a thread for"))?;
        Ok(Server { control, thread: Some(thread), socket, process: std::process::id() })
    }

    /// Waits until a debugger is attached, at most for the seconds that the variable `OPSCOPE_DEBUG_WAIT` has. Returns at
    /// once if it is not set. Whether a server listens is not looked at.
    pub fn wait_for_debugger(&self) {
        if let Some(patience) = wanted_wait().filter(|patience| !self.wait_until_attached(*patience)) {
            let seconds = patience.as_secs_f64();
            self.log(&format!(
                "no debugger attached within {seconds} s ({WAIT}), so the program continues without one"
            ));
        }
    }
}

/// Returns how long the user wants to wait for a debugger.
fn wanted_wait() -> Option<Duration> {
    let seconds: f64 = std::env::var(WAIT).ok()?.parse().ok()?;
    (0.01..=600.0).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

impl Server {
    /// Returns the path at which it listens; `None` if only this process can connect.
    pub fn path(&self) -> Option<&Path> {
        self.socket.as_ref().map(Socket::path)
    }

    /// Connects from within this process, for a [`Client`](crate::client::Client).
    ///
    /// # Errors
    /// Returns an error if the system has no file descriptors left.
    pub fn connect(&self) -> io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        self.control.connect(theirs);
        Ok(ours)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::process::id() != self.process {
            return;
        }
        self.control.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if let Some(socket) = self.socket.take() {
            socket.remove();
        }
    }
}

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
