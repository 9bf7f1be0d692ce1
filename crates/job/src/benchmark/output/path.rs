use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use opscope_files::open_directory;

use super::disk::{OutputPathError, give_name, remove, remove_empty, take_place};
use super::unfinished::{UnfinishedOutput, unfinished};

/// A directory or file that appears under its name when it is complete.
///
/// Until [`commit`](Self::commit) its name has the suffix `.partial`. If it is dropped before that, it stays under the
/// partial name if it was [kept](Self::keep). Otherwise it is removed, together with the directories above it that were
/// created for it and are empty.
#[derive(Debug)]
pub struct OutputPath {
    target: PathBuf,
    partial: PathBuf,
    /// The directories above it that were created for it, the deepest first.
    made: Vec<PathBuf>,
    /// The directory above it, locked until something has the partial name.
    naming: Option<File>,
    /// The partial output, locked as long as this process writes it.
    writing: Option<File>,
    existing: Existing,
}

/// What happens to something that already has the name of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and the name is not available.
    Stays,
    /// It is removed when the output is complete. A partial output of a killed run is removed at once.
    IsReplaced,
}

impl OutputPath {
    /// Reserves a name below `root`, after creating the directories above it. Other runs that reserve a name in the
    /// same directory wait until [`begun`](Self::begun).
    ///
    /// # Errors
    /// Returns an error if something has the name and stays, if the partial name is taken by a running or killed run
    /// and is not removed, if a directory below `root` is a link, or if the directory above cannot be created or
    /// written.
    pub fn reserve(root: &Path, target: PathBuf, existing: Existing) -> Result<Self, OutputPathError> {
        let partial = partial_of(&target);
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let below_root = || parent.ancestors().take_while(|above| *above != root && above.starts_with(root));
        if let Some(link) = below_root().find(|above| above.is_symlink()) {
            return Err(OutputPathError::Link(link.to_owned()));
        }
        let missing = |path: &&Path| !path.as_os_str().is_empty() && path.symlink_metadata().is_err();
        let made: Vec<_> = parent.ancestors().take_while(missing).map(Path::to_owned).collect();
        let made_above = fs::create_dir_all(parent).map_err(OutputPathError::io(parent));
        // On a file system without locks, two runs that reserve the same name at the same moment may both get here.
        // Then one of them fails.
        let naming = open_directory(parent).ok().filter(|directory| directory.lock().is_ok());
        let name = Some(&target).filter(|_| existing == Existing::Stays);
        if existing == Existing::IsReplaced {
            Self::remove_abandoned(&target);
        }
        let taken = || name.into_iter().chain([&partial]).find(|path| path.symlink_metadata().is_ok());
        let free = made_above.and_then(|()| taken().map_or(Ok(()), |path| Err(OutputPathError::Exists(path.clone()))));
        if let Err(error) = free {
            remove_empty(&made);
            return Err(error);
        }
        unfinished().insert(partial.clone(), UnfinishedOutput::new(&partial, &target, &made));
        Ok(Self { partial, target, made, naming, writing: None, existing })
    }

    /// Removes the directory that a killed run left under the partial name.
    pub(super) fn remove_abandoned(target: &Path) {
        let partial = partial_of(target);
        if is_abandoned(&partial) {
            remove(&partial);
        }
    }

    /// Reserves a name as [`reserve`](Self::reserve) does, and creates the directory.
    ///
    /// # Errors
    /// The same as [`reserve`](Self::reserve).
    pub fn directory(root: &Path, target: PathBuf, existing: Existing) -> Result<Self, OutputPathError> {
        let mut path = Self::reserve(root, target, existing)?;
        fs::create_dir(&path.partial).map_err(OutputPathError::io(&path.partial))?;
        path.begun();
        Ok(path)
    }

    /// Ends the reservation once something has the partial name. Other runs may then reserve names in the same
    /// directory.
    pub fn begun(&mut self) {
        self.writing = open_directory(&self.partial).ok().filter(|file| file.try_lock().is_ok());
        self.naming = None;
    }

    /// Returns the path to write to.
    pub fn partial(&self) -> &Path {
        &self.partial
    }

    /// Keeps the partial output, even if it is never committed.
    pub fn keep(&self) {
        unfinished().remove(&self.partial);
    }

    /// Keeps an existing output of this name, because this output is not fit to replace it.
    pub fn leave_existing(&mut self) {
        self.existing = Existing::Stays;
    }

    /// Renames the output to its final name. Returns the final path.
    ///
    /// # Errors
    /// Returns an error if something that stays has appeared under that name, or if the file system returns an error.
    pub fn commit(mut self) -> Result<PathBuf, OutputPathError> {
        // A complete output is kept even if it cannot be renamed.
        self.keep();
        match self.existing {
            Existing::Stays => give_name(&self.partial, &self.target)?,
            Existing::IsReplaced => take_place(&self.partial, &self.target)?,
        }
        Ok(std::mem::take(&mut self.target))
    }
}

impl Drop for OutputPath {
    fn drop(&mut self) {
        // An output that is no longer in the list was kept or removed before.
        if unfinished().remove(&self.partial).is_some() {
            remove(&self.partial);
            remove_empty(&self.made);
        }
    }
}

/// Returns the path of an output until it is complete.
pub(super) fn partial_of(target: &Path) -> PathBuf {
    let mut partial = OsString::from(target.as_os_str());
    partial.push(".partial");
    partial.into()
}

/// Returns whether no run is writing this directory any more. Without locks on the file system that cannot be known,
/// and this returns `false`.
fn is_abandoned(partial: &Path) -> bool {
    let is_directory = partial.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    is_directory && open_directory(partial).is_ok_and(|directory| directory.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_exists_is_overwritten_or_removed() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("a");
        fs::write(&target, "mine").unwrap();
        assert!(
            matches!(OutputPath::directory(directory.path(), target.clone(), Existing::Stays), Err(OutputPathError::Exists(path)) if path == target)
        );
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
    }

    #[test]
    fn a_directory_appears_under_its_name_when_it_is_whole_and_not_at_all_otherwise() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("deep/er");
        drop(OutputPath::directory(directory.path(), target.clone(), Existing::Stays).unwrap());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "directories that it made go with it");
        let path = OutputPath::directory(directory.path(), target.clone(), Existing::Stays).unwrap();
        fs::write(path.partial().join("x"), "x").unwrap();
        assert!(!target.exists());
        path.commit().unwrap();
        assert_eq!(fs::read_to_string(target.join("x")).unwrap(), "x");
    }

    #[test]
    fn what_takes_the_name_meanwhile_is_not_replaced_and_what_is_whole_stays() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("a");
        let path = OutputPath::directory(directory.path(), target.clone(), Existing::Stays).unwrap();
        fs::write(path.partial().join("x"), "x").unwrap();
        // An empty directory, which a plain rename would replace.
        fs::create_dir(&target).unwrap();
        assert!(matches!(path.commit(), Err(OutputPathError::Exists(path)) if path == target));
        assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(directory.path().join("a.partial/x")).unwrap(), "x");
    }

    #[test]
    fn no_link_below_the_root_is_followed_but_the_root_itself_may_be_one() {
        let directory = tempfile::tempdir().unwrap();
        let (elsewhere, root) = (directory.path().join("elsewhere"), directory.path().join("root"));
        fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink("elsewhere", &root).unwrap();
        std::os::unix::fs::symlink("../elsewhere", root.join("profiler")).unwrap();
        let linked = OutputPath::directory(&root, root.join("profiler/run"), Existing::Stays);
        assert!(matches!(linked, Err(OutputPathError::Link(path)) if path == root.join("profiler")));
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1, "nothing but the link");
        OutputPath::directory(&root, root.join("run"), Existing::Stays).unwrap().commit().unwrap();
        assert!(elsewhere.join("run").is_dir());
    }

    #[test]
    fn what_a_killed_run_left_is_replaced_on_request_and_what_a_run_writes_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("a");
        let begin = |existing| OutputPath::directory(directory.path(), target.clone(), existing);
        // A killed process holds no lock.
        let left = directory.path().join("a.partial");
        fs::create_dir(&left).unwrap();
        fs::write(left.join("old"), "old").unwrap();
        assert!(matches!(begin(Existing::Stays), Err(OutputPathError::Exists(path)) if path == left));
        let writing = begin(Existing::IsReplaced).unwrap();
        assert_eq!(fs::read_dir(&left).unwrap().count(), 0, "the old one is gone");
        fs::write(left.join("new"), "new").unwrap();
        assert!(matches!(begin(Existing::IsReplaced), Err(OutputPathError::Exists(path)) if path == left));
        writing.commit().unwrap();
        assert_eq!(fs::read_to_string(target.join("new")).unwrap(), "new");
    }

    #[test]
    fn what_is_replaced_stays_until_the_new_one_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("a");
        let begin = || OutputPath::directory(directory.path(), target.clone(), Existing::IsReplaced).unwrap();
        for (content, commits) in [("first", true), ("failed", false), ("second", true)] {
            let path = begin();
            fs::write(path.partial().join(content), content).unwrap();
            let expected = if content == "first" { None } else { Some("first") };
            let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
            assert_eq!(
                fs::read_dir(&target).ok().map(|mut entries| name(entries.next().unwrap())).as_deref(),
                expected
            );
            if commits {
                path.commit().unwrap();
            }
        }
        assert_eq!(fs::read_dir(&target).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(target.join("second")).unwrap(), "second");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "the old one is gone");
        let mut path = begin();
        path.leave_existing();
        assert!(matches!(path.commit(), Err(OutputPathError::Exists(path)) if path == target));
        assert_eq!(fs::read_to_string(target.join("second")).unwrap(), "second");
    }
}
