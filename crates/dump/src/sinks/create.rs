//! Creates the files and directories of a dump. No existing file is overwritten, and no link is followed, because
//! another user may also write to the directory.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Creates a file that must not exist.
pub(crate) fn file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
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
