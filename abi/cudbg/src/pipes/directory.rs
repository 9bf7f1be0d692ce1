use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Returns the directory for the pipes of a debugger's session: `cuda-dbg/PID/sessionN` in the debugger's temporary
/// directory.
///
/// # Errors
/// Returns an error if it does not exist.
pub fn of_session(debugger: i32, session: i32) -> io::Result<PathBuf> {
    let places = [temporary_of(debugger), env::var_os("TMPDIR"), Some(OsString::from("/tmp"))];
    let within = format!("cuda-dbg/{debugger}/session{session}");
    let paths = places.into_iter().flatten().map(|place| Path::new(&place).join(&within));
    let found = paths.filter(|path| path.is_absolute()).find(|path| is_directory(path));
    found.ok_or_else(|| {
        let text = format!("debugger {debugger} has no directory {within} in its temporary directory");
        io::Error::new(io::ErrorKind::NotFound, text)
    })
}

/// Returns the temporary directory that the debugger's environment names. This process's environment may name another
/// one.
fn temporary_of(debugger: i32) -> Option<OsString> {
    let environment = fs::read(format!("/proc/{debugger}/environ")).ok()?;
    let value = environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(b"TMPDIR="))?;
    Some(OsString::from_vec(OsStr::from_bytes(value).as_bytes().to_vec()))
}

fn is_directory(path: &Path) -> bool {
    // A link is not followed, because it could lead to another user's directory.
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}
