//! What a path contains, and which paths belong to one run.

mod precision;
mod summary;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use opscope_dump::INDEX;
use opscope_job::benchmark::StoredRun;

pub(crate) use self::precision::{SavedLook, SavedPrecision};
pub(crate) use self::summary::{SavedInput, SavedOperator, SavedType, Summary, Times};
use crate::ReportError;

/// How many runs a page has at most.
const MOST_RUNS: usize = 16;

/// The suffix of a summary's name.
const SUMMARY: &str = "_summary.json";

/// One run of the benchmark: those of its parts that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RunPaths {
    /// The run's name.
    pub name: String,
    /// `NAME_summary.json`.
    pub summary: Option<PathBuf>,
    /// The recording's directory.
    pub recording: Option<PathBuf>,
    /// The dump: a directory, or a single file.
    pub dump: Option<PathBuf>,
    /// The result of a search for precisions.
    pub precision: Option<PathBuf>,
}

/// A part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunPart {
    Summary,
    Recording,
    Dump,
    Precision,
}

/// The content of a path.
enum PathContent {
    Part(RunPart),
    /// The output directory of runs.
    Output(Vec<(RunPart, PathBuf)>),
}

/// Returns the runs in paths, in the order of the paths, and how many runs in output directories were omitted. The
/// parts of a run in one output directory are one run, even if each part is given by its own path.
pub(crate) fn runs(paths: &[PathBuf]) -> Result<(Vec<RunPaths>, usize), ReportError> {
    let mut runs: Vec<(PathBuf, RunPaths)> = Vec::new();
    let mut named = 0;
    for path in paths {
        match held(path)? {
            PathContent::Part(part) => {
                named += 1;
                add(&mut runs, part, path.clone());
            }
            PathContent::Output(parts) => parts.into_iter().for_each(|(part, path)| add(&mut runs, part, path)),
        }
    }
    let mut runs: Vec<RunPaths> = runs.into_iter().map(|(_, run)| run).collect();
    let left_out = runs.len().saturating_sub(MOST_RUNS);
    if left_out > 0 {
        if named > 0 {
            return Err(ReportError::TooMany { found: runs.len(), most: MOST_RUNS });
        }
        let mut newest: Vec<Option<SystemTime>> = runs.iter().map(RunPaths::written).collect();
        newest.sort_by(|one, other| other.cmp(one));
        let oldest_shown = newest[MOST_RUNS - 1];
        runs.retain(|run| run.written() >= oldest_shown);
        runs.truncate(MOST_RUNS);
    }
    Ok((runs, left_out))
}

/// Adds a part to its run, or to a new run if that has such a part already.
fn add(runs: &mut Vec<(PathBuf, RunPaths)>, part: RunPart, path: PathBuf) {
    let (directory, name) = home(part, &path);
    let key = directory.join(&name);
    let fits = |(known, run): &mut (PathBuf, RunPaths)| *known == key && run.part(part).is_none();
    let index = runs.iter_mut().position(fits).unwrap_or_else(|| {
        runs.push((key, RunPaths { name, ..RunPaths::default() }));
        runs.len() - 1
    });
    *runs[index].1.part(part) = Some(path);
}

impl RunPaths {
    /// Returns the directory in which the run was started: the one where its model and each of `files` is found. It is
    /// the current directory or one above the run's results. Returns `None` if the model does not exist any more.
    pub(crate) fn started_in(&self, model: &Path, files: &[PathBuf]) -> Option<PathBuf> {
        let parts = [&self.summary, &self.recording, &self.dump, &self.precision].into_iter().flatten();
        let around = parts.filter_map(|part| part.canonicalize().ok());
        let around = around.flat_map(|part| part.ancestors().skip(1).map(Path::to_owned).collect::<Vec<_>>());
        let directories: Vec<PathBuf> = std::env::current_dir().into_iter().chain(around).collect();
        let with_model = || directories.iter().filter(|directory| directory.join(model).is_file());
        let has_all = |directory: &&PathBuf| files.iter().all(|file| directory.join(file).exists());
        with_model().find(has_all).or_else(|| with_model().next()).cloned()
    }

    /// Returns when its last part was written, as far as the file system knows.
    fn written(&self) -> Option<SystemTime> {
        let parts = [&self.summary, &self.recording, &self.dump, &self.precision].into_iter().flatten();
        parts.filter_map(|part| part.metadata().ok()?.modified().ok()).max()
    }

    fn part(&mut self, part: RunPart) -> &mut Option<PathBuf> {
        match part {
            RunPart::Summary => &mut self.summary,
            RunPart::Recording => &mut self.recording,
            RunPart::Dump => &mut self.dump,
            RunPart::Precision => &mut self.precision,
        }
    }
}

/// Returns the output directory that contains a part, and the name of its run.
fn home(part: RunPart, path: &Path) -> (PathBuf, String) {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = whole.file_name().map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned());
    let parent = whole.parent().unwrap_or(&whole);
    let is_in = |folder: &str| parent.file_name().is_some_and(|name| name == folder);
    let output = match part {
        RunPart::Recording if is_in("profiler") => parent.parent(),
        RunPart::Dump if is_in("dump") => parent.parent(),
        _ => None,
    };
    let name = match part {
        RunPart::Summary => name.strip_suffix(SUMMARY).unwrap_or(&name).to_owned(),
        // The directory has the name, and not the file.
        RunPart::Precision => match parent.file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            None => name,
        },
        RunPart::Recording | RunPart::Dump => name.strip_suffix(".partial").unwrap_or(&name).to_owned(),
    };
    (output.unwrap_or(parent).to_owned(), name)
}

fn held(path: &Path) -> Result<PathContent, ReportError> {
    let wrong = |reason: String| ReportError::NotASource { path: path.to_owned(), reason };
    if let Some(StoredRun { summary, recording, dump, .. }) = StoredRun::find(path) {
        let parts = [(RunPart::Summary, summary), (RunPart::Recording, recording), (RunPart::Dump, dump)];
        return Ok(PathContent::Output(parts.into_iter().filter_map(|(part, path)| Some((part, path?))).collect()));
    }
    let metadata = path.metadata().map_err(|error| wrong(format!("cannot be read ({error})")))?;
    if metadata.is_file() {
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        let is_precision = path.file_name().is_some_and(|name| name == precision::NAME);
        return Ok(PathContent::Part(match is_json {
            true if is_precision => RunPart::Precision,
            true => RunPart::Summary,
            false => RunPart::Dump,
        }));
    }
    if !metadata.is_dir() {
        return Err(wrong("is neither a directory nor a regular file but a pipe or a device".to_owned()));
    }
    if path.join("records.bin").is_file() {
        return Ok(PathContent::Part(RunPart::Recording));
    }
    if path.join(INDEX).is_file() {
        return Ok(PathContent::Part(RunPart::Dump));
    }
    let parts = output(path).map_err(|error| wrong(format!("cannot be read ({error})")))?;
    // The rest are directories with the files of AscendCL or numpy. If a directory is neither, opening it returns an
    // error.
    Ok(if parts.is_empty() { PathContent::Part(RunPart::Dump) } else { PathContent::Output(parts) })
}

/// Returns the parts of all runs in an output directory, by the runs' names; none if it is not an output directory.
fn output(path: &Path) -> std::io::Result<Vec<(RunPart, PathBuf)>> {
    let mut parts = Vec::new();
    let precision = path.join(precision::NAME);
    if precision.is_file() {
        parts.push((RunPart::Precision, precision));
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().ends_with(SUMMARY) && entry.path().is_file() {
            parts.push((RunPart::Summary, entry.path()));
        }
    }
    for (part, folder, mark) in
        [(RunPart::Recording, "profiler", "records.bin"), (RunPart::Dump, "dump", "manifest.json")]
    {
        let folder = path.join(folder);
        if folder.is_dir() {
            for entry in fs::read_dir(folder)? {
                let entry = entry?.path();
                if entry.join(mark).is_file() {
                    parts.push((part, entry));
                }
            }
        }
    }
    parts.sort_by_cached_key(|(part, path)| home(*part, path).1);
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, names: &[&str]) {
        for name in names {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("it has one")).expect("a new directory");
            fs::write(path, "{}").expect("a new file");
        }
    }

    #[test]
    fn an_output_directory_is_its_runs_and_parts_that_are_given_alone_find_theirs() {
        let root = tempfile::tempdir().expect("a directory");
        let files = [
            "a_summary.json",
            "profiler/a/records.bin",
            "dump/b/manifest.json",
            "b_summary.json",
            "a/out.npy",
            "profiler/c.partial/records.bin",
        ];
        write(root.path(), &files);
        let at = |name: &str| Some(root.path().join(name));
        let whole = runs(&[root.path().to_owned()]).expect("an output directory");
        let expected = [
            RunPaths {
                name: "a".into(),
                summary: at("a_summary.json"),
                recording: at("profiler/a"),
                ..RunPaths::default()
            },
            RunPaths { name: "b".into(), summary: at("b_summary.json"), dump: at("dump/b"), ..RunPaths::default() },
            RunPaths { name: "c".into(), recording: at("profiler/c.partial"), ..RunPaths::default() },
        ];
        assert_eq!(whole, (expected.to_vec(), 0));
        let [summary, recording] = ["a_summary.json", "profiler/a"].map(|name| root.path().join(name));
        assert_eq!(runs(&[recording.clone(), summary]).expect("both are there").0, expected[..1]);
        assert_eq!(runs(&[recording.clone(), recording]).expect("both are there").0.len(), 2, "a run against itself");
    }

    #[test]
    fn what_is_no_source_and_what_is_too_much_is_refused() {
        let root = tempfile::tempdir().expect("a directory");
        let error = runs(&[root.path().join("nowhere")]).expect_err("there is nothing").to_string();
        assert!(error.contains("nowhere cannot be read") && error.contains("NAME_summary.json"), "{error}");
        let many: Vec<String> = (0..=MOST_RUNS).map(|run| format!("{run}_summary.json")).collect();
        write(root.path(), &many.iter().map(String::as_str).collect::<Vec<_>>());
        let named: Vec<PathBuf> = many.iter().map(|name| root.path().join(name)).collect();
        let error = runs(&named).expect_err("they are too many").to_string();
        assert_eq!(error, "there are 17 runs, and a page shows at most 16; name those to show");
        // Of an output directory, the newest runs are shown.
        let long_ago = fs::File::options().write(true).open(&named[3]).expect("a file");
        long_ago.set_modified(SystemTime::UNIX_EPOCH).expect("a time");
        let (shown, left_out) = runs(&[root.path().to_owned()]).expect("an output directory");
        assert_eq!((shown.len(), left_out), (MOST_RUNS, 1));
        assert!(shown.iter().all(|run| run.name != "3"), "{shown:?}");
    }
}
