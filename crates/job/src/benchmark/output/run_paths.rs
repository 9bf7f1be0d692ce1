use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::disk::{OutputPathError, remove};
use super::path::{Existing, OutputPath};
use super::stored_run::{DUMPS, RECORDINGS, StoredRun, summary_of};
use crate::benchmark::job::{CaptureSpec, Job, TakenName};

/// The paths of everything that a run writes.
pub(in crate::benchmark) struct RunPaths {
    /// The run's name: the one in the job, perhaps with a number.
    pub run_name: PathBuf,
    /// The recording or the dump. It is dropped before `outputs`, because the directory above both may have been
    /// created for `outputs`.
    pub captured: Option<OutputPath>,
    /// The model's outputs.
    pub outputs: Option<OutputPath>,
    /// The summary. It does not exist yet, or belongs to the run that is replaced.
    pub summary: Option<PathBuf>,
    /// Whether the run replaces an older one of its name when it is complete.
    pub replaces: bool,
}

/// The directories of captured data, beside those of the runs. No run may have these names.
const RESERVED_NAMES: [&str; 2] = [RECORDINGS, DUMPS];

impl RunPaths {
    /// Checks what can be checked before the model is loaded: that the name is free, or that the files under it may be
    /// replaced.
    pub fn check(job: &Job) -> Result<(), OutputPathError> {
        if let Some(output) =
            job.output.as_ref().filter(|output| output.directory.exists() && !output.directory.is_dir())
        {
            return Err(OutputPathError::NotADirectory(output.directory.clone()));
        }
        match job.taken {
            TakenName::Number => Ok(()),
            TakenName::Refuse => {
                let found: Vec<PathBuf> = existing(job).parts().map(Path::to_owned).collect();
                match &found[..] {
                    [] => Ok(()),
                    _ => Err(OutputPathError::Taken { name: job.run_name.clone(), found }),
                }
            }
            TakenName::Replace => Self::replaceable(job).map(|_| ()),
        }
    }

    /// Returns the run that a job replaces.
    ///
    /// # Errors
    /// Returns an error if files there were not written by a run.
    pub fn replaceable(job: &Job) -> Result<StoredRun, OutputPathError> {
        let existing = existing(job);
        existing.check_is_ours().map(|()| existing)
    }

    /// Reserves the paths of a job.
    pub fn reserve(job: &Job) -> Result<Self, OutputPathError> {
        const MOST: u32 = 100_000;
        Self::check(job)?;
        let mut number = 1;
        loop {
            match (Self::with_number(job, number), job.taken) {
                (Err(OutputPathError::Exists(_)), TakenName::Number) if number < MOST => number += 1,
                // Another run has taken the name since it was checked, or is writing under it.
                (Err(OutputPathError::Exists(path)), TakenName::Refuse) => {
                    return Err(OutputPathError::Taken { name: job.run_name.clone(), found: vec![path] });
                }
                // The partial output of a dead run would have been removed, so another run is writing it.
                (Err(OutputPathError::Exists(path)), TakenName::Replace)
                    if path.to_string_lossy().ends_with(".partial") =>
                {
                    return Err(OutputPathError::InProgress(path));
                }
                (reserved, _) => return reserved,
            }
        }
    }

    /// Removes the rest of the run that a job replaced: a recording or a dump, if the new run has none of that kind.
    pub fn remove_replaced(old: &StoredRun, job: &Job) {
        let captured = [old.recording.as_deref(), old.dump.as_deref()].into_iter().flatten();
        captured.filter(|path| Some(*path) != job.capture.directory()).for_each(remove);
    }

    fn with_number(job: &Job, number: u32) -> Result<Self, OutputPathError> {
        let run_name = numbered(&job.run_name, number);
        let replaces = job.taken == TakenName::Replace;
        let existing_stays = if replaces { Existing::IsReplaced } else { Existing::Stays };
        let mut paths = Self { run_name, captured: None, outputs: None, summary: None, replaces };
        let output = job.output.as_ref().map(|output| output.directory.as_path());
        if let Some(directory) = output {
            // The run that was killed may have used the other instrument.
            for kind in [RECORDINGS, DUMPS].into_iter().filter(|_| replaces) {
                OutputPath::remove_abandoned(&directory.join(kind).join(&paths.run_name));
            }
            let target = directory.join(&paths.run_name);
            let summary = summary_of(&target);
            let is_reserved = RESERVED_NAMES.iter().any(|name| paths.run_name == Path::new(name));
            if is_reserved || (!replaces && summary.symlink_metadata().is_ok()) {
                return Err(OutputPathError::Exists(if is_reserved { target } else { summary }));
            }
            paths.summary = Some(summary);
            paths.outputs = Some(OutputPath::directory(directory, target, existing_stays)?);
        }
        if let Some(directory) = job.capture.directory() {
            // The directory that the user named: the directory of results, or the one in an acl.json.
            let depth = job.run_name.components().count();
            let above = || directory.ancestors().nth(depth).unwrap_or(directory);
            let root = output.filter(|output| directory.starts_with(output)).unwrap_or_else(above);
            paths.captured = Some(OutputPath::reserve(root, numbered(directory, number), existing_stays)?);
        }
        Ok(paths)
    }
}

/// Returns the existing files and directories under the names of a job's run.
fn existing(job: &Job) -> StoredRun {
    let found = job.output.as_ref().map(|output| StoredRun::of(&output.directory, &job.run_name)).unwrap_or_default();
    // An acl.json names directories of its own.
    let captured = || job.capture.directory().filter(|path| path.symlink_metadata().is_ok()).map(Path::to_owned);
    match job.capture {
        CaptureSpec::Nothing => found,
        CaptureSpec::Profile { .. } => StoredRun { recording: captured().or(found.recording.clone()), ..found },
        CaptureSpec::Dump { .. } => StoredRun { dump: captured().or(found.dump.clone()), ..found },
    }
}

/// Returns the path with a number after its last name, or unchanged for number 1.
fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let mut name: OsString = path.file_name().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    path.with_file_name(name)
}
