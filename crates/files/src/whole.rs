//! Files that appear under their name only when they are complete.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

/// The suffix of a file's name until the file is complete.
pub const PART: &str = ".part";

/// Creates a file whose content `write` writes. It appears under its name when it is complete, and is removed if that
/// fails.
///
/// A directory may come from an untrusted source, such as a recording that was sent. So the file is written under a
/// name that cannot be predicted, and an existing file or link is never written through or replaced.
///
/// # Errors
/// Returns the error of `write` or of the system; `AlreadyExists` if the name is taken.
pub fn write_whole<E: From<io::Error>>(path: &Path, write: impl FnOnce(&mut File) -> Result<(), E>) -> Result<(), E> {
    if path.symlink_metadata().is_ok() {
        // The rename would notice this, too, but only after all the work.
        return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
    }
    let mut part = part_of(path)?;
    write(part.as_file_mut())?;
    part.persist_noclobber(path).map_err(|error| error.error)?;
    Ok(())
}

/// Writes a file, and atomically replaces an existing one: a reader sees either the old one or the new one.
///
/// # Errors
/// Returns the system's error.
pub fn replace_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut part = part_of(path)?;
    io::Write::write_all(part.as_file_mut(), content)?;
    part.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Creates a temporary file beside `path`. It is removed unless it is renamed to `path`.
///
/// # Errors
/// Returns the system's error.
pub fn part_of(path: &Path) -> io::Result<NamedTempFile> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut prefix: OsString = path.file_name().unwrap_or_default().to_owned();
    prefix.push(".");
    unpredictable(directory, &prefix, PART)
}

/// Creates a file in a directory with a name that cannot be predicted, and with the permissions of other new files. It
/// is removed unless it is renamed.
///
/// # Errors
/// Returns the system's error.
pub fn unpredictable(
    directory: &Path,
    prefix: impl AsRef<OsStr>,
    suffix: impl AsRef<OsStr>,
) -> io::Result<NamedTempFile> {
    // The system removes the permissions in the process's umask.
    let permissions = Permissions::from_mode(0o666);
    tempfile::Builder::new().prefix(&prefix).suffix(&suffix).permissions(permissions).tempfile_in(directory)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(directory: &Path) -> Vec<OsString> {
        let mut names: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_when_it_is_whole_and_not_at_all_when_writing_fails() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("table.csv");
        let failed = write_whole(&path, |file| {
            file.write_all(b"half")?;
            Err::<(), _>(io::Error::other("no more"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "no more");
        assert!(names(directory.path()).is_empty());
        write_whole(&path, |file| {
            assert!(!path.exists());
            file.write_all(b"whole")
        })
        .unwrap();
        assert_eq!((names(directory.path()), fs::read(&path).unwrap()), (vec!["table.csv".into()], b"whole".to_vec()));
    }

    #[test]
    fn nothing_that_exists_is_replaced_and_no_link_is_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (mine, path) = (directory.path().join("mine"), directory.path().join("table.csv"));
        fs::write(&mine, "mine").unwrap();
        for target in ["mine", "nowhere"] {
            symlink(target, &path).unwrap();
            let error = write_whole(&path, |file| file.write_all(b"theirs")).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            fs::remove_file(&path).unwrap();
        }
        // A file that appears in the meantime is not replaced either.
        let error = write_whole(&path, |file| {
            symlink("mine", &path)?;
            file.write_all(b"theirs")
        });
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");
        assert_eq!(names(directory.path()), ["mine", "table.csv"]);
        replace_whole(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&mine).unwrap(), "mine", "the link is replaced, not what it names");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }
}
