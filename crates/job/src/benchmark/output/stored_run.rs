use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::disk::{ForeignReason, OutputPathError};
use super::path::partial_of;

/// The existing files of one run. `OUT/RUN` names all of them: the summary is `OUT/RUN_summary.json`, the outputs are
/// `OUT/RUN`, the recording is `OUT/profiler/RUN`, and the dump is `OUT/dump/RUN`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredRun {
    /// `OUT/RUN`.
    pub path: PathBuf,
    /// The summary.
    pub summary: Option<PathBuf>,
    /// The directory of the model's outputs.
    pub outputs: Option<PathBuf>,
    /// The directory of the recording.
    pub recording: Option<PathBuf>,
    /// The directory of the dump.
    pub dump: Option<PathBuf>,
}

/// Why a run has no recording to show.
#[derive(Debug, thiserror::Error)]
#[error("the run {run:?} has no recording; benchmark with --profiler records one{}", its_dump(.dump))]
pub struct NoRecording {
    /// The run.
    pub run: PathBuf,
    /// Its dump, if it has one.
    pub dump: Option<PathBuf>,
}

fn its_dump(dump: &Option<PathBuf>) -> String {
    dump.as_ref().map(|dump| format!(". Its dump is {dump:?}")).unwrap_or_default()
}

/// The directories of recordings and of dumps, beside the outputs of runs.
pub(super) const RECORDINGS: &str = "profiler";
pub(super) const DUMPS: &str = "dump";

impl StoredRun {
    /// Returns whatever exists under the names of a run in a directory of results.
    pub fn of(directory: &Path, name: &Path) -> Self {
        let path = directory.join(name);
        let found = |path: PathBuf| path.symlink_metadata().is_ok().then_some(path);
        Self {
            summary: found(summary_of(&path)),
            outputs: found(path.clone()),
            recording: found(directory.join(RECORDINGS).join(name)),
            dump: found(directory.join(DUMPS).join(name)),
            path,
        }
    }

    /// Returns the run that a path names as `OUT/RUN`, or `None` if the path is something else, such as a recording
    /// itself.
    ///
    /// A run's name may have several components, so `OUT` may be any directory above the path.
    pub fn find(path: &Path) -> Option<Self> {
        if path.is_file() || path.join("manifest.json").exists() || path.join("records.bin").exists() {
            return None;
        }
        let mut run = Self { path: path.to_owned(), ..Self::default() };
        // The parent of a single name is the empty path, which stands for the working directory.
        for directory in path.ancestors().skip(1).take(LONGEST_NAME) {
            let Ok(name) = path.strip_prefix(directory) else { continue };
            let found = Self::of(directory, name);
            run.summary = run.summary.or(found.summary.filter(|path| path.is_file()));
            run.outputs = run.outputs.or(found.outputs.filter(|path| path.is_dir()));
            run.recording = run.recording.or(found.recording.filter(|path| path.join("records.bin").is_file()));
            run.dump = run.dump.or(found.dump.filter(|path| path.join("manifest.json").is_file()));
        }
        if run.recording.is_none() && run.dump.is_none() && run.summary.is_none() {
            run.find_unfinished();
        }
        let is_found = run.summary.is_some() || run.recording.is_some() || run.dump.is_some();
        is_found.then_some(run)
    }

    /// Finds the partial files of a run that was killed, or that is still in progress.
    fn find_unfinished(&mut self) {
        let partial = partial_of(&self.path);
        for directory in self.path.ancestors().skip(1).take(LONGEST_NAME) {
            let Ok(name) = partial.strip_prefix(directory) else { continue };
            let found = |kind: &str, file: &str| {
                let path = directory.join(kind).join(name);
                path.join(file).is_file().then_some(path)
            };
            self.recording = self.recording.take().or_else(|| found(RECORDINGS, "records.bin"));
            self.dump = self.dump.take().or_else(|| found(DUMPS, "index.jsonl"));
        }
    }

    /// Returns the recording that a path names: that of the run with this name, or the path itself.
    ///
    /// # Errors
    /// Returns an error if the path names a run without a recording.
    pub fn recording_at(path: &Path) -> Result<PathBuf, NoRecording> {
        match Self::find(path) {
            None => Ok(path.to_owned()),
            Some(Self { recording: Some(recording), .. }) => Ok(recording),
            Some(Self { dump, .. }) => Err(NoRecording { run: path.to_owned(), dump }),
        }
    }

    /// Returns the files and directories of the run.
    pub fn parts(&self) -> impl Iterator<Item = &Path> {
        [&self.outputs, &self.summary, &self.recording, &self.dump].into_iter().filter_map(|part| part.as_deref())
    }

    /// Checks that a benchmark wrote all of it, so that it may be removed.
    ///
    /// # Errors
    /// Returns an error that names the first file or directory that no benchmark wrote.
    pub(super) fn check_is_ours(&self) -> Result<(), OutputPathError> {
        let foreign = |path: &Path, reason| Err(OutputPathError::Foreign { path: path.to_owned(), reason });
        let captured = [(&self.recording, RECORDING), (&self.dump, DUMP)];
        for (path, schema) in captured.into_iter().filter_map(|(path, schema)| Some((path.as_deref()?, schema))) {
            if !has_schema(&path.join("manifest.json"), schema) {
                return foreign(path, ForeignReason::NoManifest { schema });
            }
            let other = match schema {
                RECORDING => first_other(path, |file| file.to_str().is_some_and(opscope_profile::is_written_name)),
                _ => {
                    let written = opscope_dump::WrittenFiles::of(path);
                    first_other(path, |file| written.contains(file))
                }
            };
            if let Some(file) = other {
                return foreign(path, ForeignReason::Holds(file));
            }
        }
        let summary = self.summary.as_deref();
        if let Some(path) = summary.filter(|path| !has_schema(path, SUMMARY)) {
            return foreign(path, ForeignReason::NoSummary { schema: SUMMARY });
        }
        let Some(outputs) = self.outputs.as_deref() else { return Ok(()) };
        if outputs.is_symlink() || !outputs.is_dir() {
            return foreign(outputs, ForeignReason::NoDirectory);
        }
        let written = summary.and_then(document).map(|summary| outfiles(&summary)).unwrap_or_default();
        match first_other(outputs, |file| written.contains(file)) {
            None => Ok(()),
            Some(file) if summary.is_none() => foreign(outputs, ForeignReason::WithoutSummary(file)),
            Some(file) => foreign(outputs, ForeignReason::Holds(file)),
        }
    }
}

/// The most components of a run's name for which [`StoredRun::find`] searches.
const LONGEST_NAME: usize = 8;

const SUMMARY: &str = "opscope.summary/";
const RECORDING: &str = "opscope.recording/";
const DUMP: &str = "opscope.dump/";

/// Returns `OUT/RUN_summary.json`.
pub(super) fn summary_of(run: &Path) -> PathBuf {
    let mut summary = run.to_owned().into_os_string();
    summary.push("_summary.json");
    summary.into()
}

/// The largest file that is read as a summary or a manifest.
const LARGEST: u64 = 256 << 20;

fn document(path: &Path) -> Option<Value> {
    serde_json::from_slice(&opscope_files::read(path, LARGEST).ok()?).ok()
}

fn has_schema(path: &Path, schema: &str) -> bool {
    let found = document(path).and_then(|document| Some(document.get("schema")?.as_str()?.starts_with(schema)));
    !path.is_symlink() && found == Some(true)
}

/// Returns the files that a summary lists as outputs, for all sets of shapes.
fn outfiles(summary: &Value) -> BTreeSet<PathBuf> {
    let others = summary["dym_shape_range"].as_array().into_iter().flatten();
    let sets = std::iter::once(summary).chain(others).filter_map(|set| set["filesinfo"].as_object());
    let files = sets.flat_map(|runs| runs.values()).filter_map(|run| run["outfiles"].as_array()).flatten();
    files.filter_map(|file| file.as_str().map(PathBuf::from)).collect()
}

/// Returns the first file of a directory whose relative path `is_known` rejects, or the first entry that is neither a
/// file nor a directory.
fn first_other(directory: &Path, is_known: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        let Ok(entries) = fs::read_dir(&next) else { return Some(next) };
        for entry in entries {
            let Ok(entry) = entry else { return Some(next) };
            let path = entry.path();
            let is_known = path.strip_prefix(directory).is_ok_and(&is_known);
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(path),
                Ok(kind) if kind.is_file() && is_known => {}
                _ => return Some(path),
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_run_is_found_by_its_name_also_where_that_has_several_components() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path();
        write(out, "a/b_summary.json", "{}");
        write(out, "dump/a/b/manifest.json", "{}");
        write(out, "profiler/c/records.bin", "");
        write(out, "d/x.npy", "");
        let found = StoredRun::find(&out.join("a/b")).unwrap();
        assert_eq!((found.summary, found.dump), (Some(out.join("a/b_summary.json")), Some(out.join("dump/a/b"))));
        assert_eq!(StoredRun::find(&out.join("c")).unwrap().recording, Some(out.join("profiler/c")));
        for other in ["d", "profiler/c", "dump/a/b", "nothing", ""] {
            assert_eq!(StoredRun::find(&out.join(other)), None, "{other}");
        }
    }

    #[test]
    fn only_what_a_run_wrote_is_ours() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path();
        let ours = || StoredRun::of(out, Path::new("a")).check_is_ours().map_err(|error| error.to_string());
        assert_eq!(ours(), Ok(()), "nothing is there");
        fs::create_dir(out.join("a")).unwrap();
        assert_eq!(ours(), Ok(()), "an empty directory");
        write(out, "a/y/cat.npy", "");
        assert!(ours().unwrap_err().contains("there is no summary"));
        let summary = r#"{"schema": "opscope.summary/1", "filesinfo": {"0": {"outfiles": ["y/cat.npy"]}}}"#;
        write(out, "a_summary.json", summary);
        assert_eq!(ours(), Ok(()));
        write(out, "a/notes.txt", "");
        assert!(ours().unwrap_err().contains("notes.txt"));
        fs::remove_file(out.join("a/notes.txt")).unwrap();
        write(out, "profiler/a/mine", "");
        assert!(ours().unwrap_err().contains("manifest.json of opscope.recording/"));
        write(out, "profiler/a/manifest.json", r#"{"schema": "opscope.recording/2"}"#);
        assert!(ours().unwrap_err().contains("profiler/a/mine"));
        fs::remove_file(out.join("profiler/a/mine")).unwrap();
        for name in ["records.bin", "timeline.json", "op_summary.csv", "operators.parquet"] {
            write(out, &format!("profiler/a/{name}"), "");
        }
        assert_eq!(ours(), Ok(()));
        write(out, "dump/a/manifest.json", r#"{"schema": "opscope.dump/1"}"#);
        write(out, "dump/a/index.jsonl", "{\"file\": \"run-0000/x.npy\"}\n{\"file\": null}\nkilled");
        for name in ["run-0000/x.npy", "run-0000/y.npy.partial", "statistics.csv", "tensors.parquet"] {
            write(out, &format!("dump/a/{name}"), "");
        }
        assert_eq!(ours(), Ok(()));
        write(out, "dump/a/run-0000/notes.npy", "");
        assert!(ours().unwrap_err().contains("notes.npy"));
    }
}
