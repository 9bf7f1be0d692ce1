//! Creates the files and directories of a dump. No existing file is overwritten, and no link is followed, because
//! another user may also write to the directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The prefix of a file's name until the file is complete.
pub(crate) const BESIDE: &str = ".beside-";

/// Creates a file that must not exist.
pub(crate) fn file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Writes a file atomically: under a name that cannot be guessed, and then renames it. The file is complete at every
/// moment.
pub(crate) fn whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    // The file gets the permissions of other new files, reduced by the process's mask.
    let permissions = fs::Permissions::from_mode(0o666);
    let mut beside = tempfile::Builder::new().prefix(BESIDE).permissions(permissions).tempfile_in(directory)?;
    beside.write_all(content)?;
    beside.persist(path)?;
    Ok(())
}

/// Creates a directory below another one, unless it exists.
pub(crate) fn directory(root: &Path, below: &Path) -> io::Result<()> {
    let mut path = root.to_path_buf();
    for part in below {
        path.push(part);
        match fs::create_dir(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists || !fs::symlink_metadata(&path)?.is_dir() => {
                return Err(error);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Creates a directory that must not exist, and the missing ones above it.
pub(crate) fn root(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::create_dir(path)
}
