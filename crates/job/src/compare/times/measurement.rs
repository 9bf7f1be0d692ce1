use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use opscope_profile::{GroupBy, Load, MedianEstimate, Recording};
use serde_json::Value;

use super::comparison::{MeasurementKind, Side};
use super::summary_file::SummaryFile;
use super::surroundings::Surroundings;
use super::{NoMeasurement, TimesError};

/// The times of a measurement.
#[derive(Debug, Clone)]
pub struct Times {
    pub(super) side: Side,
    pub(super) surroundings: Surroundings,
    pub(super) load: Load,
    /// Why it is incomplete, a sentence each.
    pub(super) problems: Vec<String>,
    /// Nanoseconds of each run.
    pub(super) runs: Vec<f64>,
    /// Nanoseconds of each run in which no operator was executed.
    pub(super) outside: Vec<f64>,
    pub(super) operators: Vec<Executed>,
    /// The times of all operators of each type together, if they are not the sums of the operators' times, as in a
    /// summary.
    pub(super) op_types: Vec<TypeMedian>,
    /// How many runs each entry in the times of runs stands for.
    pub(super) every: u64,
}

/// What a summary knows of all operators of a type.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TypeMedian {
    pub op_type: String,
    pub added: bool,
    pub median: MedianEstimate,
}

/// What a measurement knows of an operator that it executed, or of a kernel that the engine added.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Executed {
    pub operator: String,
    pub op_type: String,
    pub added: bool,
    /// The operators of each of its kernels.
    pub kernels: BTreeSet<BTreeSet<String>>,
    pub times: ExecutedTimes,
}

/// The times of an operator, in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ExecutedTimes {
    /// In each run, 0 where it was not executed.
    Runs(Vec<f32>),
    /// The median of the runs.
    Median(MedianEstimate),
}

/// The largest summary that is read.
const MOST_BYTES: u64 = 1 << 30;

impl Times {
    /// Returns whether a path is a recording, a summary, or the output directory of a benchmark with a recording.
    pub fn is_at(path: &Path) -> bool {
        is_summary(path) || !recordings_at(path).is_empty()
    }

    /// Reads the times of a recording, of a summary, or of the recording in the output directory of a benchmark.
    ///
    /// # Errors
    /// Returns an error if there is neither or there are several, or if it cannot be read.
    pub fn open(path: &Path) -> Result<Self, TimesError> {
        if is_recording(path) {
            return Self::of_recording(&Recording::open(path)?);
        }
        if path.is_file() {
            return Self::of_summary(path);
        }
        match &recordings_at(path)[..] {
            [] => {
                let reason = if path.exists() { NoMeasurement::NoManifest } else { NoMeasurement::Missing };
                Err(TimesError::Neither { path: path.to_owned(), reason })
            }
            [one] => Self::open(one),
            several => {
                let found = several.iter().map(|path| path.display().to_string()).collect();
                Err(TimesError::Several { path: path.to_owned(), found })
            }
        }
    }

    /// Reads the times of a recording.
    ///
    /// # Errors
    /// Returns an error if its records cannot be read.
    pub fn of_recording(recording: &Recording) -> Result<Self, TimesError> {
        Self::of_recording_by(recording, GroupBy::Operator)
    }

    /// Reads the times of a recording, with groups of dispatches in place of operators.
    pub(super) fn of_recording_by(recording: &Recording, by: GroupBy) -> Result<Self, TimesError> {
        let (manifest, series) = (recording.manifest(), recording.series_by(by)?);
        let operators = series.operators.into_iter().map(|operator| Executed {
            operator: operator.operator,
            op_type: operator.op_type,
            added: operator.added,
            kernels: operator.kernels,
            times: ExecutedTimes::Runs(operator.times),
        });
        let side = Side {
            path: recording.directory().to_owned(),
            kind: MeasurementKind::Recording,
            model: manifest.model.path.clone(),
            xxh3: manifest.model.xxh3,
            engine: manifest.engine.clone(),
            complete: recording.is_complete(),
            runs: series.counted,
            run_seconds: series.runs.iter().sum::<f64>() * series.every as f64 / 1e9,
            start_unix_ns: Some(manifest.clock.start_unix_ns),
        };
        Ok(Self {
            surroundings: Surroundings::of_recording(recording),
            load: manifest.load,
            problems: recording.problems().to_vec(),
            outside: series.outside,
            operators: operators.collect(),
            every: series.every,
            op_types: Vec::new(),
            runs: series.runs,
            side,
        })
    }

    fn of_summary(path: &Path) -> Result<Self, TimesError> {
        let io = |source| TimesError::Io { path: path.to_owned(), source };
        let neither = |reason| TimesError::Neither { path: path.to_owned(), reason };
        let text = opscope_files::read_text(path, MOST_BYTES).map_err(|error| match error.kind() {
            ErrorKind::FileTooLarge => neither(NoMeasurement::TooLarge(error)),
            _ => io(error),
        })?;
        let summary = SummaryFile::read(&text).map_err(|error| neither(error.into()))?;
        let runs: Vec<f64> = summary.times_ms.iter().map(|millis| millis * 1e6).collect();
        let side = Side {
            path: path.to_owned(),
            kind: MeasurementKind::Summary,
            model: summary.model.path.clone(),
            xxh3: summary.model.xxh3,
            engine: summary.engine.clone(),
            complete: summary.complete,
            runs: runs.len() as u64,
            run_seconds: runs.iter().sum::<f64>() / 1e9,
            start_unix_ns: summary.start_unix_ns,
        };
        let operators = summary.operators().map(|operator| {
            let fused = operator.fused.iter().chain([&operator.operator]).cloned().collect();
            Executed {
                operator: operator.operator.clone(),
                op_type: operator.op_type.clone(),
                added: operator.added,
                kernels: if operator.added { BTreeSet::new() } else { [fused].into() },
                times: ExecutedTimes::Median(operator.median.estimate()),
            }
        });
        let op_types = summary.op_types().map(|one| TypeMedian {
            op_type: one.op_type.clone(),
            added: one.added,
            median: one.median.estimate(),
        });
        Ok(Self {
            operators: operators.collect(),
            op_types: op_types.collect(),
            surroundings: Surroundings::of_summary(&summary),
            load: summary.load,
            problems: summary.incomplete_because.clone(),
            outside: Vec::new(),
            every: 1,
            runs,
            side,
        })
    }

    /// Returns what was opened.
    pub fn side(&self) -> &Side {
        &self.side
    }

    /// Returns its description for messages.
    pub(super) fn described(&self) -> String {
        let kind = match self.side.kind {
            MeasurementKind::Recording => "recording",
            MeasurementKind::Summary => "summary",
        };
        format!("the {kind} {:?}", self.side.path)
    }

    /// Estimates the median of what each run took. Runs of 0 ns did not execute it.
    pub(super) fn estimate(&self, times: &[f64]) -> Option<MedianEstimate> {
        MedianEstimate::of_runs(times, &self.runs, self.every)
    }

    /// Estimates the median of what some operators took together, in the runs that executed any of them. If only their
    /// medians are known, the estimate is the sum of the medians. That is not the median of the sum if the operators
    /// are executed in different runs, so it has no interval.
    pub(super) fn estimate_of(&self, operators: &[&Executed]) -> Option<MedianEstimate> {
        let mut runs = Vec::new();
        let mut medians = Vec::new();
        for operator in operators {
            match &operator.times {
                ExecutedTimes::Runs(times) => runs.push(&times[..]),
                ExecutedTimes::Median(median) => medians.push(*median),
            }
        }
        let estimate = match medians[..] {
            [] => MedianEstimate::of_sums(runs, &self.runs, self.every),
            [one] => Some(one),
            _ => Some(MedianEstimate::without_interval(medians.iter().map(|one| one.median).sum())),
        };
        estimate.filter(|estimate| estimate.median > 0.0)
    }

    /// Estimates the median of what all operators of a type took together.
    pub(super) fn estimate_of_type(&self, op_type: &str, added: bool) -> Option<MedianEstimate> {
        let is_it = |other: &str, other_added: bool| other == op_type && other_added == added;
        if let Some(known) = self.op_types.iter().find(|one| is_it(&one.op_type, one.added)) {
            return Some(known.median);
        }
        let operators = self.operators.iter().filter(|one| is_it(&one.op_type, one.added));
        self.estimate_of(&operators.collect::<Vec<_>>())
    }
}

impl Executed {
    /// Returns the names of all operators that its kernels execute.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().flatten().map(String::as_str)
    }

    /// Returns whether only its median is known: in summaries of earlier versions, and where an operator was rarely
    /// executed.
    pub(super) fn lacks_interval(&self) -> bool {
        matches!(self.times, ExecutedTimes::Median(MedianEstimate { interval: None, .. }))
    }
}

/// Returns whether this is the directory of a recording.
fn is_recording(path: &Path) -> bool {
    schema_of(&path.join("manifest.json")).is_some_and(|schema| schema.starts_with("opscope.recording/"))
}

/// Returns the recordings that a path stands for: itself, those in the output directory of a benchmark, or those of the
/// ranks of a job.
pub(super) fn recordings_at(path: &Path) -> Vec<PathBuf> {
    if is_recording(path) {
        return vec![path.to_owned()];
    }
    match recordings_in(path) {
        found if found.is_empty() => recordings_within(path).into_iter().filter(|path| is_of_rank(path)).collect(),
        found => found,
    }
}

/// Returns whether a recording is called as those of the ranks of a job are: `rank0`.
fn is_of_rank(path: &Path) -> bool {
    let number = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix("rank"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
}

fn is_summary(path: &Path) -> bool {
    path.is_file() && path.to_string_lossy().ends_with("_summary.json")
}

/// Returns the schema of a small JSON file.
fn schema_of(path: &Path) -> Option<String> {
    let text = opscope_files::read_text(path, 16 << 20).ok()?;
    Some(serde_json::from_str::<Value>(&text).ok()?.get("schema")?.as_str()?.to_owned())
}

/// Returns the recordings in the output directory of a benchmark; none if it also has dumps, whose tensors are compared.
fn recordings_in(path: &Path) -> Vec<PathBuf> {
    if path.join("dump").exists() {
        return Vec::new();
    }
    recordings_within(&path.join("profiler"))
}

/// Returns the recordings in a directory.
fn recordings_within(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut recordings: Vec<PathBuf> = entries.filter(|path| is_recording(path)).collect();
    recordings.sort();
    recordings
}
