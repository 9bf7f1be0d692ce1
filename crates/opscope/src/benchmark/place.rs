//! Where results go: beside their place first, and under their name when they are whole.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A directory or file that will exist when it is whole.
///
/// Until [`commit`](Self::commit) it has the suffix `.partial`. One that is dropped before stays under that name if it was
/// [kept](Self::keep), and is removed otherwise, with those directories above it that were made for it and are empty.
#[derive(Debug)]
pub struct Place {
    target: PathBuf,
    partial: PathBuf,
    /// The directories above it that were made for it, the deepest first.
    made: Vec<PathBuf>,
    keep: bool,
    done: bool,
}

/// Why results cannot go where they should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// Something is there.
    #[error(
        "{0:?} exists already, and nothing that exists is overwritten; choose another --output or --output-dirname"
    )]
    Exists(PathBuf),
    /// The file system refuses.
    #[error("{path:?} cannot be written: {source}")]
    Io {
        /// Where.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl PlaceError {
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| Self::Io { path: path.to_owned(), source }
    }
}

/// The places that are neither whole nor kept, with the directories that were made for them.
static UNFINISHED: Mutex<BTreeMap<PathBuf, Vec<PathBuf>>> = Mutex::new(BTreeMap::new());

fn unfinished() -> MutexGuard<'static, BTreeMap<PathBuf, Vec<PathBuf>>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every place of this process that is neither whole nor kept, for a process that ends without dropping them.
pub fn remove_unfinished_places() {
    for (partial, made) in std::mem::take(&mut *unfinished()) {
        remove(&partial, &made);
    }
}

/// Best effort: what cannot be removed keeps a name that says what it is.
fn remove(partial: &Path, made: &[PathBuf]) {
    let _ = match fs::symlink_metadata(partial) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(partial),
        Ok(_) => fs::remove_file(partial),
        Err(_) => Ok(()),
    };
    // Only empty directories can be removed so; the first one that is not ends it.
    let _ = made.iter().try_for_each(fs::remove_dir);
}

impl Place {
    /// Reserves a name, after making the directories above it.
    ///
    /// # Errors
    /// When something of that name exists, or the directory above cannot be made or written.
    pub fn reserve(target: PathBuf) -> Result<Self, PlaceError> {
        let mut partial = OsString::from(target.as_os_str());
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        if let Some(taken) = [&target, &partial].into_iter().find(|path| path.symlink_metadata().is_ok()) {
            return Err(PlaceError::Exists(taken.clone()));
        }
        let parent = target.parent().unwrap_or(Path::new("."));
        let missing = |path: &&Path| !path.as_os_str().is_empty() && path.symlink_metadata().is_err();
        let made = parent.ancestors().take_while(missing).map(Path::to_owned).collect();
        let place = Self { partial, target, made, keep: false, done: false };
        unfinished().insert(place.partial.clone(), place.made.clone());
        // What was made before it failed goes away with the place.
        let parent = place.target.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(PlaceError::io(parent))?;
        Ok(place)
    }

    /// The same, and makes the directory.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    pub fn directory(target: PathBuf) -> Result<Self, PlaceError> {
        let place = Self::reserve(target)?;
        fs::create_dir(&place.partial).map_err(PlaceError::io(&place.partial))?;
        Ok(place)
    }

    /// Where to write.
    pub fn partial(&self) -> &Path {
        &self.partial
    }

    /// Where it will be.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// From now on what is there stays there, also where this ends early.
    pub fn keep(&mut self) {
        self.keep = true;
        unfinished().remove(&self.partial);
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// When something of that name has come to exist, or the file system refuses.
    pub fn commit(mut self) -> Result<PathBuf, PlaceError> {
        if self.target.symlink_metadata().is_ok() {
            self.keep = true;
            return Err(PlaceError::Exists(self.target.clone()));
        }
        fs::rename(&self.partial, &self.target).map_err(PlaceError::io(&self.target))?;
        self.done = true;
        Ok(self.target.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What was taken from the list is removed already.
        let listed = unfinished().remove(&self.partial).is_some();
        if listed && !self.done && !self.keep {
            remove(&self.partial, &self.made);
        }
    }
}

/// The name of a run that was given none: the local date and time, as in `2026_01_31-14_05_59`.
pub fn run_name() -> String {
    chrono::Local::now().format("%Y_%m_%d-%H_%M_%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_exists_is_overwritten_or_removed() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("a");
        fs::write(&target, "mine").unwrap();
        assert!(matches!(Place::directory(target.clone()), Err(PlaceError::Exists(path)) if path == target));
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
    }

    #[test]
    fn a_directory_appears_under_its_name_when_it_is_whole_and_not_at_all_otherwise() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("deep/er");
        drop(Place::directory(target.clone()).unwrap());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "directories that it made go with it");
        let place = Place::directory(target.clone()).unwrap();
        fs::write(place.partial().join("x"), "x").unwrap();
        assert!(!target.exists());
        place.commit().unwrap();
        assert_eq!(fs::read_to_string(target.join("x")).unwrap(), "x");
    }
}
