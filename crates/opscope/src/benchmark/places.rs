use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::job::{Instrumentation, Job};
use super::place::{Place, PlaceError};
use crate::local_time::local_time;

/// Where the results of a run go.
pub(super) struct Places {
    /// The run's name: the one that was asked for, or that with a number.
    pub run_name: PathBuf,
    /// The recording or the dump. It goes before the outputs, for which the directory above both may have been made.
    pub data: Option<Place>,
    /// The model's outputs.
    pub outputs: Option<Place>,
    /// The summary, which does not exist yet.
    pub summary: Option<PathBuf>,
}

/// The directories of data in that of results: no run has their names.
const OF_DATA: [&str; 2] = ["profiler", "dump"];

impl Places {
    /// Finds places for everything that a job leaves. Where its name is taken, it gets a number: `first-2`.
    pub fn reserve(job: &Job) -> Result<Self, PlaceError> {
        const MOST: u32 = 100_000;
        let mut number = 1;
        loop {
            match Self::of(job, number) {
                Err(PlaceError::Exists(_)) if number < MOST => number += 1,
                found => return found,
            }
        }
    }

    fn of(job: &Job, number: u32) -> Result<Self, PlaceError> {
        let run_name = numbered(&job.run_name, number);
        let mut places = Self { run_name, data: None, outputs: None, summary: None };
        let output = job.output.as_ref().map(|(directory, _)| directory.as_path());
        if let Some(directory) = output {
            let target = directory.join(&places.run_name);
            let mut summary = target.clone().into_os_string();
            summary.push("_summary.json");
            let summary = PathBuf::from(summary);
            let is_of_data = OF_DATA.iter().any(|name| places.run_name == Path::new(name));
            if is_of_data || summary.symlink_metadata().is_ok() {
                return Err(PlaceError::Exists(if is_of_data { target } else { summary }));
            }
            places.summary = Some(summary);
            places.outputs = Some(Place::directory(directory, target)?);
        }
        if let Instrumentation::Profiler { directory, .. } | Instrumentation::Dump { directory, .. } =
            &job.instrumentation
        {
            // What the user named: the directory of results, or the one that an acl.json names.
            let depth = job.run_name.components().count();
            let above = || directory.ancestors().nth(depth).unwrap_or(directory);
            let root = output.filter(|output| directory.starts_with(output)).unwrap_or_else(above);
            places.data = Some(Place::reserve(root, numbered(directory, number))?);
        }
        Ok(places)
    }
}

/// A path with a number behind its last name, but for the first one.
fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let mut name: OsString = path.file_name().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    path.with_file_name(name)
}

/// The name of a run that was given none: the local date and time, as in `2026_01_31-14_05_59`.
pub fn run_name() -> String {
    local_time().format("%Y_%m_%d-%H_%M_%S").to_string()
}
