//! How the command starts itself in another process: from the file of this process or, in a host such as Python, with
//! the words that the host set.
//!
//! Tying a process to another opscope that started it, so that both die together.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// The words that start the command where it is not a program of its own, as in Python.
static LAUNCHER: OnceLock<Vec<OsString>> = OnceLock::new();

/// Sets the words that start the command. If there are none, it is started from the file of this process. Later calls
/// have no effect.
pub fn set_launcher(words: Vec<OsString>) {
    LAUNCHER.get_or_init(|| words);
}

/// Returns a [`Command`] that starts this command again, without arguments.
///
/// # Errors
/// Returns an error if the system cannot name the file of this process.
pub fn command() -> io::Result<Command> {
    match launcher() {
        Some((program, words)) => {
            let mut command = Command::new(program);
            command.args(words);
            Ok(command)
        }
        None => std::env::current_exe().map(Command::new),
    }
}

/// As [`command`], but under the name `name`, and even if the file of this process was replaced or removed since it was
/// started.
pub fn command_named(name: &OsStr) -> Command {
    use std::os::unix::process::CommandExt;
    if launcher().is_some()
        && let Ok(command) = command()
    {
        return command;
    }
    let program = std::env::current_exe().ok().filter(|path| path.is_file());
    let mut command = Command::new(program.as_deref().unwrap_or(Path::new("/proc/self/exe")));
    command.arg0(name);
    command
}

fn launcher() -> Option<(&'static OsString, &'static [OsString])> {
    LAUNCHER.get()?.split_first()
}

/// Why this process cannot be tied to the one that started it.
#[derive(Debug, thiserror::Error)]
pub enum TieError {
    #[error("the process that started this one is gone")]
    Gone,
    #[error(transparent)]
    System(#[from] Errno),
}

/// Makes the system kill this process when its parent dies.
///
/// # Errors
/// Returns an error if `parent` has died already, or the system refuses.
pub fn die_with(parent: Pid) -> Result<(), TieError> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() == Some(parent) { Ok(()) } else { Err(TieError::Gone) }
}
