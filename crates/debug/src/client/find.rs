use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

use crate::{DebugError, socket_path};

/// The socket of a process.
pub(super) fn socket_of(pid: u32) -> Result<PathBuf, DebugError> {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let user = process.metadata().map(|process| process.uid()).map_err(|_| {
        DebugError::Connection(format!("there is no process {pid}; the number of a running program is needed"))
    })?;
    let directories = socket_path::candidates(user, std::env::var_os("XDG_RUNTIME_DIR"));
    let paths: Vec<_> = directories.iter().map(|directory| socket_path::in_directory(directory, pid)).collect();
    paths.iter().find(|path| path.symlink_metadata().is_ok()).cloned().ok_or_else(|| {
        let tried: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        DebugError::Connection(format!(
            "process {pid} has no debug server: there is no {}; a program that can be attached to is started with \
             --debug-server, and one whose socket lies elsewhere is reached by the path that it said",
            tried.join(" and no ")
        ))
    })
}

/// The process that listens at a socket, if it is stopped: it would accept, and answer nothing.
pub(super) fn stopped_peer(stream: &UnixStream) -> Option<u32> {
    let pid = socket_peercred(stream).ok()?.pid.as_raw_nonzero().get().unsigned_abs();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The state stands behind the command's name, which is in parentheses and may hold any.
    let state = stat.rsplit_once(") ")?.1;
    state.starts_with('T').then_some(pid)
}

/// Refuses a socket that somebody else listens at: this user's models and tensors are nobody else's.
pub(super) fn check_owner(stream: &UnixStream, path: &Path) -> Result<(), DebugError> {
    let fails = |reason: String| DebugError::Connection(format!("{}: {reason}", path.display()));
    let peer = socket_peercred(stream).map_err(|error| fails(error.to_string()))?;
    let own = geteuid();
    if own.is_root() || peer.uid.is_root() || peer.uid == own {
        return Ok(());
    }
    Err(fails(format!(
        "user {} listens there, and you are user {}; only your own programs can be attached to",
        peer.uid.as_raw(),
        own.as_raw()
    )))
}
