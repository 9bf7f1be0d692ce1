//! The path of a program's socket, by which it is found from the number of the process.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Returns the directory in which a program of this user creates its socket.
pub(in crate::remote) fn directory(user: u32, runtime: Option<OsString>) -> PathBuf {
    match runtime.map(PathBuf::from).filter(|runtime| runtime.is_absolute()) {
        Some(runtime) => runtime.join("opscope"),
        None => fallback(user),
    }
}

/// Returns the directories in which the socket of a program of this user may lie. There are several, because the
/// program may have been started with another environment.
pub(in crate::remote) fn candidates(user: u32, runtime: Option<OsString>) -> Vec<PathBuf> {
    let mut all = vec![directory(user, runtime)];
    for other in [PathBuf::from(format!("/run/user/{user}/opscope")), fallback(user)] {
        if !all.contains(&other) {
            all.push(other);
        }
    }
    all
}

/// Returns the path of a process's socket in a directory.
pub(in crate::remote) fn in_directory(directory: &Path, process: u32) -> PathBuf {
    directory.join(format!("{process}.sock"))
}

fn fallback(user: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/opscope-{user}"))
}
