//! File system operations on outputs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// Evidence that a file or directory at the place of a run's results was not written by a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForeignReason {
    /// It is a directory without the manifest of a recording or a dump.
    #[error("it has no manifest.json of {schema}")]
    NoManifest {
        /// The beginning of the manifest's schema.
        schema: &'static str,
    },
    /// It is a file that is not a summary.
    #[error("it is not a JSON document of {schema}")]
    NoSummary {
        /// The beginning of a summary's schema.
        schema: &'static str,
    },
    /// It is not a directory.
    #[error("it is not a directory of outputs")]
    NoDirectory,
    /// It has a file that the run did not write.
    #[error("it holds {0:?}, which its run did not write")]
    Holds(PathBuf),
    /// It has a file, and there is no summary of a run that wrote it.
    #[error("it holds {0:?}, and there is no summary of a run that wrote it")]
    WithoutSummary(PathBuf),
}

/// Why results cannot be written to a path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputPathError {
    /// The path exists.
    #[error(
        "{0:?} exists already, and nothing that exists is overwritten; choose another --output or --output-dirname"
    )]
    Exists(PathBuf),
    /// A run of that name exists.
    #[error(
        "a run named {name:?} exists already: {}; --overwrite replaces it when the new one is whole, or choose another \
         --output-dirname", listed(.found)
    )]
    Taken {
        /// The name.
        name: PathBuf,
        /// The existing files and directories of that run.
        found: Vec<PathBuf>,
    },
    /// A file or directory at the place of a run's results was not written by a run.
    #[error("{path:?} is not replaced: {reason}; move it away, or choose another --output-dirname")]
    Foreign {
        /// The path.
        path: PathBuf,
        /// The evidence.
        reason: ForeignReason,
    },
    /// The path leads through a link, which another user may have made.
    #[error(
        "{0:?} is a link, and inside of the directory of results no link is followed; give the directory that it leads to \
         with --output"
    )]
    Link(PathBuf),
    /// The directory of results is not a directory.
    #[error("{0:?} is not a directory; give another one with --output, which is made if it does not exist")]
    NotADirectory(PathBuf),
    /// Another process writes a run of that name.
    #[error(
        "a run of that name is in progress: {0:?} is being written; wait until it ends, or choose another --output-dirname"
    )]
    InProgress(PathBuf),
    /// The file system returned an error.
    #[error("{path:?} cannot be written: {source}")]
    Io {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl OutputPathError {
    pub(in crate::benchmark) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| Self::Io { path: path.to_owned(), source }
    }
}

fn listed(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| format!("{path:?}")).collect::<Vec<_>>().join(", ")
}

/// Removes a partial output as far as possible. What cannot be removed keeps the partial name.
pub(super) fn remove(partial: &Path) {
    let _ = match fs::symlink_metadata(partial) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(partial),
        Ok(_) => fs::remove_file(partial),
        Err(_) => Ok(()),
    };
}

/// Removes these directories, deepest first, up to the first one that is not empty.
pub(super) fn remove_empty(directories: &[PathBuf]) {
    let _ = directories.iter().try_for_each(fs::remove_dir);
}

/// Renames without ever replacing an existing file.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // This file system cannot refuse an existing name in the same step.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if to.symlink_metadata().is_err() => fs::rename(from, to),
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Err(io::ErrorKind::AlreadyExists.into()),
        renamed => Ok(renamed?),
    }
}

/// Gives a complete output its final name.
pub(super) fn give_name(partial: &Path, target: &Path) -> Result<(), OutputPathError> {
    rename_new(partial, target).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => OutputPathError::Exists(target.to_owned()),
        _ => OutputPathError::io(target)(error),
    })
}

/// Gives a complete output a name that something else may have, and removes the other one. If the file system can
/// exchange two names, there is always something under the name.
pub(super) fn take_place(partial: &Path, target: &Path) -> Result<(), OutputPathError> {
    match renameat_with(CWD, partial, CWD, target, RenameFlags::EXCHANGE) {
        Ok(()) => remove(partial),
        Err(Errno::NOENT) => return give_name(partial, target),
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => move_aside(partial, target)?,
        Err(error) => return Err(OutputPathError::io(target)(error.into())),
    }
    Ok(())
}

/// As [`take_place`], where two names cannot be exchanged. If the output cannot be renamed, the other one gets its name
/// back.
fn move_aside(partial: &Path, target: &Path) -> Result<(), OutputPathError> {
    let mut aside = target.to_owned().into_os_string();
    aside.push(".replaced");
    rename_new(target, Path::new(&aside)).map_err(OutputPathError::io(target))?;
    give_name(partial, target).inspect_err(|_| {
        let _ = rename_new(Path::new(&aside), target);
    })?;
    remove(Path::new(&aside));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_moved_aside_is_replaced_or_has_its_name_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let (partial, target) = (path("run.partial"), path("run"));
        fs::write(&target, "old").unwrap();
        // An output that is gone cannot take the name.
        let error = move_aside(&partial, &target).unwrap_err();
        assert!(matches!(error, OutputPathError::Io { .. }), "{error}");
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        fs::write(&partial, "new").unwrap();
        move_aside(&partial, &target).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
    }
}
