//! How the command starts itself in another process: from the file of this process or, in a host such as Python, with
//! the words that the host set.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

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
