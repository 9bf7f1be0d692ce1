//! How a client finds a program's socket, and how it is notified of events.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use opscope_sys::{Condvar, Mutex};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

use crate::error::ConnectionError;
use crate::remote::socket;
use crate::session::recursion::{self, Rule};
use crate::sync::{EventDescriptor, lock};

/// Returns the path of a process's socket.
pub(super) fn socket_of(pid: u32) -> Result<PathBuf, ConnectionError> {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let user = process.metadata().map(|process| process.uid()).map_err(|_| ConnectionError::NoSuchProcess(pid))?;
    let directories = socket::candidates(user, std::env::var_os("XDG_RUNTIME_DIR"));
    let paths: Vec<_> = directories.iter().map(|directory| socket::in_directory(directory, pid)).collect();
    let found = paths.iter().find(|path| path.symlink_metadata().is_ok()).cloned();
    found.ok_or(ConnectionError::NoServer { pid, tried: paths })
}

/// Returns the process that listens at a socket if it is stopped by a signal, because then it would accept connections
/// but never answer.
pub(super) fn stopped_peer(stream: &UnixStream) -> Option<u32> {
    let pid = socket_peercred(stream).ok()?.pid.as_raw_nonzero().get().unsigned_abs();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The state follows the command's name, which is in parentheses and may itself contain parentheses.
    let state = stat.rsplit_once(") ")?.1;
    state.starts_with('T').then_some(pid)
}

/// Refuses a socket at which another user listens: that user must not get this user's models and tensors.
pub(super) fn check_owner(stream: &UnixStream, path: &Path) -> Result<(), ConnectionError> {
    let path = path.to_owned();
    let peer = match socket_peercred(stream) {
        Ok(peer) => peer,
        Err(error) => return Err(ConnectionError::UnknownUser { path, error: Arc::new(error.into()) }),
    };
    let own = geteuid();
    if own.is_root() || peer.uid.is_root() || peer.uid == own {
        return Ok(());
    }
    Err(ConnectionError::OtherUser { path, listener: peer.uid.as_raw(), own: own.as_raw() })
}

/// Notifies a client of events, by a descriptor and by a callback.
pub(super) struct Notification {
    descriptor: EventDescriptor,
    signal: Arc<CallbackSignal>,
    /// The thread that calls the callback.
    caller: Mutex<Option<JoinHandle<()>>>,
}

/// The signal for the thread that calls the callback.
#[derive(Default)]
struct CallbackSignal {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Whether the callback has to be called.
    is_due: bool,
    /// Whether the thread has to end.
    is_over: bool,
}

impl Notification {
    pub fn new() -> io::Result<Self> {
        Ok(Self { descriptor: EventDescriptor::new()?, signal: Arc::default(), caller: Mutex::default() })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Makes the descriptor unreadable.
    pub fn clear(&self) {
        self.descriptor.clear();
    }

    /// Makes the descriptor readable and requests a call of the callback.
    pub fn notify(&self) {
        self.descriptor.signal();
        lock(&self.signal.state).is_due = true;
        self.signal.changed.notify_all();
    }

    /// Starts the thread of a callback. The thread of an earlier one has ended by then.
    pub fn set_callback(&self, callback: Option<Box<dyn FnMut() + Send>>, rule: Rule) -> io::Result<()> {
        let mut caller = lock(&self.caller);
        self.end(caller.take());
        let Some(mut callback) = callback else { return Ok(()) };
        *lock(&self.signal.state) = State { is_due: self.is_signalled(), is_over: false };
        let signal = Arc::clone(&self.signal);
        let call = move || {
            while signal.wait() {
                recursion::inside(rule, &mut callback);
            }
        };
        *caller = Some(thread::Builder::new().name("opscope-debug-callback".into()).spawn(call)?);
        Ok(())
    }

    fn is_signalled(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.descriptor, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// Ends the callback's thread.
    pub fn stop(&self) {
        let mut caller = lock(&self.caller);
        self.end(caller.take());
    }

    fn end(&self, caller: Option<JoinHandle<()>>) {
        let Some(caller) = caller else { return };
        lock(&self.signal.state).is_over = true;
        self.signal.changed.notify_all();
        if caller.thread().id() != thread::current().id() {
            let _ = caller.join();
        }
    }
}

impl CallbackSignal {
    /// Waits until the callback has to be called. Returns `false` if the thread has to end.
    fn wait(&self) -> bool {
        let mut state = lock(&self.state);
        while !state.is_due && !state.is_over {
            state = self.changed.wait(state);
        }
        state.is_due = false;
        !state.is_over
    }
}
