//! What a dump makes on disk. Nothing that exists is overwritten, and no link is followed: another user may write to the
//! directory, too.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// How the name of a file begins until the file is whole.
pub(crate) const BESIDE: &str = ".beside-";

/// Creates a file that must not exist.
pub(crate) fn file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Writes a file as a whole: under a name that cannot be guessed, then renamed. At every moment the file is whole.
pub(crate) fn whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    // Readable for whom other files are, as far as the process's mask allows.
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
