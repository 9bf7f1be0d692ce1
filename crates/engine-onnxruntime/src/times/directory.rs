//! The directory to which the library writes the profiles of single runs.

use std::cell::Cell;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use opscope_clock::Ticks;
use opscope_files::{open_directory, open_regular};
use rustix::process::getuid;

/// A directory that only this user can read, in memory or in the system's directory for temporary files. It is removed
/// when this is dropped. A killed process leaves its directory, called `opscope-times-PID-NUMBER`, with the profiles of
/// the runs in progress; the next process that needs a directory removes it.
pub(crate) struct ProfileDirectory {
    path: PathBuf,
    profiles: AtomicU64,
    /// The open directory, locked: the lock ends with the process, however it ends.
    _lock: File,
}

/// The path of a profile that a run will write. The library adds the date and a number. The file is removed when this
/// is dropped.
pub(crate) struct ProfilePath<'a> {
    directory: &'a ProfileDirectory,
    name: String,
    /// Whether the file was removed already.
    is_removed: Cell<bool>,
}

/// The prefix of the directories' names.
const PREFIX: &str = "opscope-times-";

/// The prefix of the profiles' names.
const PROFILE: &str = "run";

/// How much memory must be free. A profile has about 500 bytes per kernel, and is removed before the next run.
const ROOM: u64 = 1 << 30;

impl ProfileDirectory {
    pub fn create() -> io::Result<Self> {
        let (in_memory, temporary) = (Path::new("/dev/shm"), std::env::temp_dir());
        [in_memory, &temporary].into_iter().for_each(remove_abandoned);
        // A user who sets a directory for temporary files wants it to be used.
        if std::env::var_os("TMPDIR").is_none()
            && rustix::fs::statvfs(in_memory).is_ok_and(|room| room.f_bavail.saturating_mul(room.f_frsize) >= ROOM)
            && let Ok(created) = Self::create_in(in_memory)
        {
            return Ok(created);
        }
        Self::create_in(&temporary)
    }

    fn create_in(place: &Path) -> io::Result<Self> {
        let mut builder = DirBuilder::new();
        builder.mode(0o700);
        loop {
            // A name that cannot be predicted, and that never exists already.
            let name = format!("{PREFIX}{}-{:x}", std::process::id(), Ticks::now().as_raw());
            // It gets this name once it is locked, so that no other process removes it as abandoned.
            let unlocked = place.join(format!(".{name}"));
            match builder.create(&unlocked) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            let path = place.join(name);
            let named = open_directory(&unlocked).and_then(|directory| {
                // On file systems without locks, abandoned directories cannot be recognised.
                let _ = directory.lock();
                fs::rename(&unlocked, &path)?;
                Ok(directory)
            });
            return match named {
                Ok(lock) => Ok(Self { path, profiles: AtomicU64::new(0), _lock: lock }),
                Err(error) => {
                    // A failure has no consequences.
                    let _ = fs::remove_dir(&unlocked);
                    Err(error)
                }
            };
        }
    }

    /// Returns the path of the next profile.
    pub fn next(&self) -> ProfilePath<'_> {
        let number = self.profiles.fetch_add(1, Ordering::Relaxed);
        ProfilePath { directory: self, name: format!("{PROFILE}{number}"), is_removed: Cell::new(false) }
    }
}

/// Removes the directories that killed processes of this user left. Directories that cannot be removed stay.
fn remove_abandoned(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let is_own = || entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == getuid().as_raw());
        if !is_named(&entry.file_name().to_string_lossy()) || !is_own() {
            continue;
        }
        let path = entry.path();
        // Locked until it is gone.
        let Ok(directory) = open_directory(&path) else { continue };
        if directory.try_lock().is_err() {
            continue;
        }
        for profile in fs::read_dir(&path).into_iter().flatten().flatten() {
            if profile.file_name().to_string_lossy().starts_with(PROFILE) {
                let _ = fs::remove_file(profile.path());
            }
        }
        let _ = fs::remove_dir(&path);
    }
}

/// Returns whether a directory has the form of a name from `create_in`.
fn is_named(name: &str) -> bool {
    let Some((pid, number)) = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-')) else { return false };
    let is_digits = |text: &str, radix| !text.is_empty() && text.chars().all(|digit| digit.is_digit(radix));
    is_digits(pid, 10) && is_digits(number, 16)
}

impl ProfilePath<'_> {
    /// Returns the prefix that the library is given.
    pub fn prefix(&self) -> String {
        self.directory.path.join(&self.name).display().to_string()
    }

    /// Opens the profile, and removes its name.
    pub fn open(&self) -> io::Result<File> {
        let path = self.written()?.ok_or(io::ErrorKind::NotFound)?;
        let file = open_regular(&path)?;
        fs::remove_file(&path)?;
        self.is_removed.set(true);
        Ok(file)
    }

    fn written(&self) -> io::Result<Option<PathBuf>> {
        let prefix = format!("{}_", self.name);
        for entry in fs::read_dir(&self.directory.path)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                return Ok(Some(entry.path()));
            }
        }
        Ok(None)
    }
}

impl Drop for ProfilePath<'_> {
    fn drop(&mut self) {
        if !self.is_removed.get()
            && let Ok(Some(path)) = self.written()
        {
            // A failure has no consequences.
            let _ = fs::remove_file(path);
        }
    }
}

impl Drop for ProfileDirectory {
    fn drop(&mut self) {
        // As above.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn nothing_is_left_of_a_profile_that_was_read_or_not() {
        let directory = ProfileDirectory::create().expect("a temporary directory");
        let path = directory.path.clone();
        assert_eq!(fs::metadata(&path).expect("it exists").permissions().mode() & 0o777, 0o700);
        let left = || fs::read_dir(&path).expect("it exists").count();
        for number in 0..12 {
            let profile = directory.next();
            fs::write(format!("{}_2026-11-22_1.json", profile.prefix()), format!("{number}")).expect("room");
            if number % 2 == 0 {
                let mut text = String::new();
                profile.open().expect("it was written").read_to_string(&mut text).expect("a text");
                assert_eq!((text, left()), (format!("{number}"), 0));
            }
            drop(profile);
            assert_eq!(left(), 0);
        }
        assert!(directory.next().open().is_err(), "nothing was written");
        drop(directory);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else_is() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let directory = |name: String, file: &str| {
            let path = place.path().join(name);
            fs::create_dir(&path).expect("a new directory");
            fs::write(path.join(file), "[").expect("room");
            path
        };
        let abandoned = directory(format!("{PREFIX}12-3fa"), "run0_2026-11-22_1.json");
        let others = [
            directory(format!("{PREFIX}baseline"), "run0.json"),
            directory(format!("{PREFIX}12-results"), "run0.json"),
            directory(format!("{PREFIX}12-3fb"), "notes.txt"),
        ];
        let used = ProfileDirectory::create_in(place.path()).expect("a directory");
        remove_abandoned(place.path());
        assert!(!abandoned.exists());
        assert!(used.path.exists());
        for other in others {
            assert_eq!(fs::read_dir(&other).expect("it exists").count(), 1, "{}", other.display());
        }
    }
}
