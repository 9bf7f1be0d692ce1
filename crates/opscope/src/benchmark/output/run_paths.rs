use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::disk::OutputPathError;
use super::path::OutputPath;
use crate::benchmark::job::Job;

/// The paths of everything that a run leaves.
pub(in crate::benchmark) struct RunPaths {
    /// The run's name: the one that the job asks for, or that with a number.
    pub run_name: PathBuf,
    /// The recording or the dump. It is dropped before `outputs`, for which the directory above both may have been made.
    pub captured: Option<OutputPath>,
    /// The model's outputs.
    pub outputs: Option<OutputPath>,
    /// The summary, which does not exist yet.
    pub summary: Option<PathBuf>,
}

/// The directories of captured data beside those of the runs: no run has these names.
const RESERVED_NAMES: [&str; 2] = ["profiler", "dump"];

impl RunPaths {
    /// Reserves the paths of a job. If its name is taken, it gets a number: `first-2`.
    pub fn reserve(job: &Job) -> Result<Self, OutputPathError> {
        const MOST: u32 = 100_000;
        let mut number = 1;
        loop {
            match Self::with_number(job, number) {
                Err(OutputPathError::Exists(_)) if number < MOST => number += 1,
                reserved => return reserved,
            }
        }
    }

    fn with_number(job: &Job, number: u32) -> Result<Self, OutputPathError> {
        let run_name = numbered(&job.run_name, number);
        let mut paths = Self { run_name, captured: None, outputs: None, summary: None };
        let output = job.output.as_ref().map(|output| output.directory.as_path());
        if let Some(directory) = output {
            let target = directory.join(&paths.run_name);
            let mut summary = target.clone().into_os_string();
            summary.push("_summary.json");
            let summary = PathBuf::from(summary);
            let is_reserved = RESERVED_NAMES.iter().any(|name| paths.run_name == Path::new(name));
            if is_reserved || summary.symlink_metadata().is_ok() {
                return Err(OutputPathError::Exists(if is_reserved { target } else { summary }));
            }
            paths.summary = Some(summary);
            paths.outputs = Some(OutputPath::directory(directory, target)?);
        }
        if let Some(directory) = job.capture.directory() {
            // The directory that the user named: that of results, or the one in an acl.json.
            let depth = job.run_name.components().count();
            let above = || directory.ancestors().nth(depth).unwrap_or(directory);
            let root = output.filter(|output| directory.starts_with(output)).unwrap_or_else(above);
            paths.captured = Some(OutputPath::reserve(root, numbered(directory, number))?);
        }
        Ok(paths)
    }
}

/// The path with a number behind its last name, except for number 1.
fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let mut name: OsString = path.file_name().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    path.with_file_name(name)
}
