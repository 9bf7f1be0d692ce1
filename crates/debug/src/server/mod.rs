//! The program's side of the protocol.

mod backtrace;
mod connection;
mod graphs;
mod listing;
mod requests;
mod service;
mod socket;
mod tensors;

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use crate::Debugger;
use crate::doorbell::Doorbell;
use crate::sync::lock;
use service::Service;
use socket::Socket;

/// Where a server listens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerOptions {
    /// Where.
    pub listen: Listen,
}

/// Where a server listens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Listen {
    /// Where a debugger looks for it by the number of the process: `PID.sock` in `$XDG_RUNTIME_DIR/opscope`, or
    /// `/tmp/opscope-UID`. The directory is made for its user alone.
    #[default]
    ByProcess,
    /// At this path, in a directory that nobody else can write to.
    At(PathBuf),
    /// Nowhere: only this process connects.
    Nowhere,
}

/// Why no server was started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The directory is not for this user alone.
    #[error(
        "the debug server's socket cannot lie in {}: {reason}. Whoever reaches it can see and change what the program \
         computes, so the directory must be this user's, and not a link",
        .directory.display()
    )]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The socket's place is taken.
    #[error("the debug server's socket cannot be {}: {reason}", .path.display())]
    Taken {
        /// The path.
        path: PathBuf,
        /// By what.
        reason: String,
    },
    /// The system said no.
    #[error("the debug server cannot {action} {}: {error}", .path.display())]
    System {
        /// What it wanted to do.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

/// A thread that serves debuggers over a Unix socket.
///
/// Only processes of the same user (and of root) are served. One debugger is attached at a time; what happens when it
/// hangs up or dies is what happens when it detaches. Dropping the server detaches it, and removes the socket; a program
/// that is killed leaves a socket that the next server clears away.
pub struct Server {
    handle: Arc<Handle>,
    thread: Option<JoinHandle<()>>,
    socket: Option<Socket>,
    /// A child process that was forked has no such thread, and does not own the socket.
    process: u32,
}

/// How the serving thread is reached.
struct Handle {
    orders: Mutex<Orders>,
    bell: Doorbell,
}

#[derive(Default)]
struct Orders {
    connect: Vec<UnixStream>,
    stop: bool,
}

impl Debugger {
    /// Lets debuggers attach through a socket, until the server is dropped.
    ///
    /// # Errors
    /// When the socket cannot be where it should be, or its directory is not safe.
    pub fn serve(&self, options: ServerOptions) -> Result<Server, ServeError> {
        let socket = match options.listen {
            Listen::ByProcess => Some(Socket::by_process()?),
            Listen::At(path) => Some(Socket::at(path)?),
            Listen::Nowhere => None,
        };
        let system = |action: &'static str| {
            let path = socket.as_ref().map(|socket| socket.path().to_owned()).unwrap_or_default();
            move |error: io::Error| ServeError::System { action, path, error }
        };
        let handle = Arc::new(Handle {
            orders: Mutex::default(),
            bell: Doorbell::new().map_err(system("get a descriptor for"))?,
        });
        let listener = match &socket {
            Some(socket) => Some(socket.listener().map_err(system("listen at"))?),
            None => None,
        };
        let service = Service::new(self.clone(), listener, Arc::clone(&handle));
        let thread = thread::Builder::new().name("opscope-debug-server".into()).spawn(move || service.run());
        let thread = thread.map_err(system("start a thread for"))?;
        Ok(Server { handle, thread: Some(thread), socket, process: std::process::id() })
    }
}

impl Server {
    /// Where it listens; none where only this process connects.
    pub fn path(&self) -> Option<&Path> {
        self.socket.as_ref().map(Socket::path)
    }

    /// A connection from within this process, for a [`Client`](crate::client::Client).
    ///
    /// # Errors
    /// When the system gives no descriptors.
    pub fn connect(&self) -> io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        lock(&self.handle.orders).connect.push(theirs);
        self.handle.bell.ring();
        Ok(ours)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::process::id() != self.process {
            return;
        }
        lock(&self.handle.orders).stop = true;
        self.handle.bell.ring();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if let Some(socket) = self.socket.take() {
            socket.remove();
        }
    }
}

impl Handle {
    /// What was ordered since the last time.
    fn take(&self) -> Orders {
        self.bell.silence();
        let mut orders = lock(&self.orders);
        Orders { connect: std::mem::take(&mut orders.connect), stop: orders.stop }
    }
}
