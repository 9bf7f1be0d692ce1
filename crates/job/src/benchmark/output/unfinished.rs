use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use opscope_sys::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use super::disk::{OutputPathError, give_name, remove, remove_empty};

/// An output that a process has begun and neither committed nor removed. Another process can finish it when the first
/// one is dead.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnfinishedOutput {
    partial: OsString,
    target: OsString,
    /// The directories that were created for it.
    made: Vec<OsString>,
}

/// The outputs of this process that are neither committed nor kept, by their partial paths.
static UNFINISHED: Mutex<BTreeMap<PathBuf, UnfinishedOutput>> = Mutex::new(BTreeMap::new());

pub(super) fn unfinished() -> MutexGuard<'static, BTreeMap<PathBuf, UnfinishedOutput>> {
    UNFINISHED.lock()
}

/// The data that a process captured before it died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptCapture {
    /// Where it is.
    pub directory: PathBuf,
    /// The last complete tensor of a dump.
    pub last_tensor: Option<String>,
}

/// Why the captured data of a dead process is not closed, or does not have its final name. It is still there, under its
/// partial name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnfinishedError {
    /// The dump could not be closed.
    #[error("the dump could not be closed: {0}")]
    Dump(#[from] opscope_dump::DumpError),
    /// The recording could not be closed.
    #[error("the recording could not be closed: {0}")]
    Profile(#[from] opscope_profile::ProfileError),
    /// The data could not get its final name.
    #[error("what was captured stays in {partial:?}: {source}")]
    Name {
        /// Where it is.
        partial: PathBuf,
        /// The reason.
        source: OutputPathError,
    },
}

/// Returns the outputs of this process that are neither committed nor kept.
pub fn unfinished_outputs() -> Vec<UnfinishedOutput> {
    unfinished().values().cloned().collect()
}

/// Removes every output of this process that is neither committed nor kept, for a process that ends without dropping
/// them.
pub fn remove_unfinished_outputs() {
    // When the job drops its outputs later, it finds nothing left to remove.
    let outputs = std::mem::take(&mut *unfinished());
    UnfinishedOutput::remove_all(outputs.values());
}

impl UnfinishedOutput {
    pub(super) fn new(partial: &Path, target: &Path, made: &[PathBuf]) -> Self {
        Self { partial: partial.into(), target: target.into(), made: made.iter().map(OsString::from).collect() }
    }

    /// Finishes the outputs of a dead process. Closes a recording or a dump, whose manifest then says that it is
    /// incomplete for this `reason`, and gives it its final name. Other outputs are removed, as after a run that fails.
    /// Returns what is kept.
    pub fn finish_all(outputs: &[Self], reason: &str) -> Vec<Result<KeptCapture, UnfinishedError>> {
        let (captured, others): (Vec<&Self>, Vec<&Self>) = outputs.iter().partition(|output| output.is_captured());
        let kept = captured.into_iter().map(|output| output.finish(reason)).collect();
        Self::remove_all(others);
        kept
    }

    /// Removes outputs, and the directories above them that were created for them and are empty.
    pub fn remove_all<'a>(outputs: impl IntoIterator<Item = &'a Self>) {
        let mut made = Vec::new();
        for output in outputs {
            remove(Path::new(&output.partial));
            made.extend(output.made.iter().map(PathBuf::from));
        }
        // A directory that was created for one output may contain one that was created for another.
        made.sort_by_key(|directory| std::cmp::Reverse(directory.components().count()));
        made.iter().for_each(|directory| remove_empty(std::slice::from_ref(directory)));
    }

    fn is_captured(&self) -> bool {
        self.is_recording() || self.file(opscope_dump::MANIFEST).is_file()
    }

    fn is_recording(&self) -> bool {
        self.file("records.bin").is_file()
    }

    fn file(&self, name: &str) -> PathBuf {
        Path::new(&self.partial).join(name)
    }

    fn finish(&self, reason: &str) -> Result<KeptCapture, UnfinishedError> {
        let (partial, target) = (Path::new(&self.partial), Path::new(&self.target));
        let last_tensor = if self.is_recording() {
            opscope_profile::close_abandoned(partial, reason)?;
            None
        } else {
            opscope_dump::close_abandoned(partial, reason)?.last.map(|tensor| tensor.to_string())
        };
        give_name(partial, target).map_err(|source| UnfinishedError::Name { partial: partial.to_owned(), source })?;
        Ok(KeptCapture { directory: target.to_owned(), last_tensor })
    }
}
