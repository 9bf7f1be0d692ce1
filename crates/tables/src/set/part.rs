//! Files that are being written for a set.

use std::fs::{self, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use opscope_files::open_regular;
use tempfile::NamedTempFile;

const PREFIX: &str = "part-";
/// The number of bytes that are collected before a system call.
const BUFFER: usize = 256 << 10;

/// A file that is being written in the set's directory of parts, and is removed unless it is published. It is locked
/// while its process lives.
pub(super) struct Part(BufWriter<NamedTempFile>);

impl Part {
    /// Creates a file.
    pub(super) fn create(parts: &Path) -> io::Result<Self> {
        loop {
            let file = opscope_files::unpredictable(parts, PREFIX, "")?;
            file.as_file().lock()?;
            // Between its creation and the lock, another process may have removed it as the file of a killed process.
            if file.path().symlink_metadata().is_ok() {
                return Ok(Self(BufWriter::with_capacity(BUFFER, file)));
            }
        }
    }

    /// Writes everything to the disk.
    pub(super) fn complete(self) -> io::Result<NamedTempFile> {
        let file = self.0.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        Ok(file)
    }
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Gives a complete file its name. Returns `false`, and changes nothing, if a file with this name exists.
pub(super) fn publish(part: NamedTempFile, path: &Path) -> io::Result<bool> {
    match part.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.error),
    }
}

/// Removes the parts of processes that were killed.
pub(super) fn remove_abandoned(parts: &Path) -> io::Result<()> {
    for entry in fs::read_dir(parts)? {
        let entry = entry?;
        let is_part = entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes());
        // Another process may publish or remove it at the same moment.
        if !is_part || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let Ok(file) = open_regular(&entry.path()) else { continue };
        match file.try_lock() {
            Ok(()) => match fs::remove_file(entry.path()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            },
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_published_unless_the_name_is_taken() {
        let root = tempfile::tempdir().expect("room");
        let path = root.path().join("table.parquet");
        let part = |text: &str| {
            let mut part = Part::create(root.path()).expect("room");
            part.write_all(text.as_bytes()).expect("room");
            part.complete().expect("a disk")
        };
        assert!(publish(part("first"), &path).expect("it is new"));
        assert!(!publish(part("second"), &path).expect("it is there"));
        assert_eq!(fs::read_to_string(&path).expect("a file"), "first");
        let nowhere = root.path().join("missing/table.parquet");
        assert_eq!(publish(part("third"), &nowhere).expect_err("no directory").kind(), io::ErrorKind::NotFound);
        assert_eq!(fs::read_dir(root.path()).expect("a directory").count(), 1, "no part stays");
    }

    #[test]
    fn what_is_flushed_is_in_the_file() {
        let root = tempfile::tempdir().expect("room");
        let mut part = Part::create(root.path()).expect("room");
        part.write_all(b"rows").expect("room");
        let path = part.0.get_ref().path().to_owned();
        assert_eq!(fs::read(&path).expect("a file"), b"");
        part.flush().expect("room");
        assert_eq!(fs::read(&path).expect("a file"), b"rows");
    }
}
