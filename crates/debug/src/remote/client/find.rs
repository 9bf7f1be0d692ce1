use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

use crate::error::ConnectionError;
use crate::remote::socket;

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
