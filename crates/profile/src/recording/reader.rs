use std::fmt;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope_clock::Calibration;
use opscope_files::open_regular;
use opscope_onnx::OperatorId;

use super::frame::{Damage, FrameReader};
use super::groups::{Groups, RunGroup};
use super::manifest::{Manifest, RecordCounts};
use super::names::{CounterNames, KernelNames, NAMES, Names};
use super::names_file::LARGEST_NAMES;
use super::record::StoredRecords;
use super::writer::RECORDS;
use super::{Fact, RunKind, Span};
use crate::ProfileError;

/// A recording on disk: complete, or as a killed process left it.
pub struct Recording {
    directory: PathBuf,
    manifest: Manifest,
    names: Names,
    calibration: Calibration,
    problems: Vec<String>,
    lost_records: bool,
    has_paths: bool,
    progress: Option<Progress>,
    cancel: Arc<AtomicBool>,
}

/// A callback that gets the number of bytes of the records file that were read, and their total.
type Progress = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// An iterator over the facts of a recording, in the order in which they were written: those of each thread are in
/// order, and those of several threads are in batches.
pub struct Facts {
    path: PathBuf,
    frames: FrameReader,
    records: StoredRecords,
    progress: Option<Progress>,
    cancel: Arc<AtomicBool>,
}

impl Recording {
    /// Opens the recording in a directory. A truncated recording can be opened, too; [`problems`](Self::problems) says
    /// what it lacks.
    ///
    /// # Errors
    /// Returns an error if there is no recording, its manifest cannot be understood, or a file cannot be read.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, ProfileError> {
        let directory = directory.into();
        let manifest = Manifest::read(&directory)?;
        let names = read_names(&directory)?;
        let mut problems = manifest.incomplete_because.clone();
        if !manifest.complete && problems.is_empty() {
            problems.push("it says that it is incomplete".to_owned());
        }
        if names.damaged_lines > 0 {
            problems.push(format!("{} lines of {NAMES} could not be read", names.damaged_lines));
        }
        let mut check = check_records(&directory, &manifest)?;
        problems.append(&mut check.problems);
        let start = manifest.clock.start.pair();
        let end = manifest.clock.end.map(|end| end.pair()).or(check.last_clock).unwrap_or(start);
        let calibration = Calibration::between(start, end);
        let RecordsCheck { lost_records, has_paths, .. } = check;
        Ok(Self {
            directory,
            manifest,
            names,
            calibration,
            problems,
            lost_records,
            has_paths,
            progress: None,
            cancel: Arc::default(),
        })
    }

    /// Sets a function that is called from time to time while the recording is read, with the number of bytes that were
    /// read and their total. The recording is read once for each file of an export, and once for an account.
    pub fn set_progress(&mut self, progress: impl Fn(u64, u64) + Send + Sync + 'static) {
        self.progress = Some(Arc::new(progress));
    }

    /// Sets a flag that ends all reading of the recording with [`ProfileError::Cancelled`] once it is true.
    pub fn set_cancel(&mut self, cancel: Arc<AtomicBool>) {
        self.cancel = cancel;
    }

    /// Returns its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns its manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns whether everything that was requested is there.
    pub fn is_complete(&self) -> bool {
        self.problems.is_empty()
    }

    /// Returns what is missing, one sentence each.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Returns how its ticks become time. If the process was killed, the clock of the last frame replaces that of the
    /// end.
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// Returns the beginning and end in whole nanoseconds of `CLOCK_BOOTTIME`, as in every export.
    pub fn nanos_since_boot(&self, span: Span) -> (u64, u64) {
        let nanos = |ticks| self.calibration.timestamp(ticks).as_nanos();
        (nanos(span.start), nanos(span.end).max(nanos(span.start)))
    }

    /// Converts a moment from nanoseconds of `CLOCK_BOOTTIME` to nanoseconds since 1970.
    pub fn nanos_since_1970(&self, since_boot: u64) -> u64 {
        let clock = &self.manifest.clock;
        // A damaged clock may have any value.
        clock.start_unix_ns.saturating_add(since_boot).saturating_sub(clock.start.boottime_ns)
    }

    /// Returns the kernels of every plan, in the order of execution.
    pub fn plans(&self) -> &[Vec<KernelNames>] {
        &self.names.plans
    }

    /// Returns the names of a dispatch's kernel; `None` if they were lost.
    pub fn kernel(&self, plan: u64, kernel: u32) -> Option<&KernelNames> {
        self.names.kernel(plan, kernel)
    }

    /// Returns the name of an operator in the graph of a plan; `None` if it was lost. The paths of dispatches refer to
    /// operators.
    pub fn operator(&self, plan: u64, operator: OperatorId) -> Option<&str> {
        self.names.operator(plan, operator)
    }

    /// Returns a counter's name and unit; `None` if they were lost.
    pub fn counter(&self, counter: u32) -> Option<&CounterNames> {
        self.names.counters.get(&counter)
    }

    /// Returns a marker's name; `None` if it was lost.
    pub fn marker(&self, name: u32) -> Option<&str> {
        self.names.markers.get(&name).map(String::as_str)
    }

    /// Returns a marker's name, or its number if the name was lost.
    pub fn marker_name(&self, name: u32) -> String {
        self.marker(name).map_or_else(|| format!("marker {name}"), str::to_owned)
    }

    /// Returns whether the user's code marked anything.
    pub(crate) fn has_markers(&self) -> bool {
        !self.names.markers.is_empty()
    }

    /// Returns a thread's name; `None` if it has none.
    pub fn thread_name(&self, thread: u32) -> Option<&str> {
        self.names.threads.get(&thread).map(String::as_str)
    }

    /// Returns all facts in the recording, one after the other. This needs memory for one frame.
    ///
    /// # Errors
    /// Returns an error if the file of records cannot be read.
    pub fn facts(&self) -> Result<Facts, ProfileError> {
        Facts::open(self.directory.join(RECORDS), self.progress.clone(), Arc::clone(&self.cancel))
    }

    /// Returns all facts in the recording, with dispatches grouped by their runs. This needs memory for the runs that
    /// are open at the same moment.
    ///
    /// # Errors
    /// Returns an error if the file of records cannot be read.
    pub fn groups(&self) -> Result<Groups<Facts>, ProfileError> {
        Ok(Groups::new(self.facts()?))
    }

    /// Returns whether a run counts for statistics: it was measured and completed. If runs were not recorded, every run
    /// counts.
    pub fn counts(&self, group: &RunGroup) -> bool {
        group.record.map_or(!self.records_of("model-execution"), |run| run.kind == RunKind::Measured && !run.failed)
    }

    /// Returns whether records were lost: dropped because the memory for them was full, or damaged.
    pub(crate) fn lost_records(&self) -> bool {
        self.lost_records
    }

    /// Returns whether any dispatch has a path, which is the case if the model has operators in bodies and the engine
    /// shows them.
    pub(crate) fn has_paths(&self) -> bool {
        self.has_paths
    }

    /// Returns whether the recording has records of this switch.
    pub(crate) fn records_of(&self, switch: &str) -> bool {
        self.manifest.switches.get(switch).copied().unwrap_or(true)
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording")
            .field("directory", &self.directory)
            .field("problems", &self.problems)
            .finish_non_exhaustive()
    }
}

impl Facts {
    fn open(path: PathBuf, progress: Option<Progress>, cancel: Arc<AtomicBool>) -> Result<Self, ProfileError> {
        let frames = open_regular(&path).and_then(FrameReader::new).map_err(ProfileError::io("read", &path))?;
        Ok(Self { path, frames, records: StoredRecords::new(Vec::new()), progress, cancel })
    }
}

impl Iterator for Facts {
    type Item = Result<Fact, ProfileError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(fact) = self.records.next() {
                return Some(Ok(fact));
            }
            if self.cancel.load(Ordering::Relaxed) {
                return Some(Err(ProfileError::Cancelled));
            }
            let read = self.frames.next();
            if let Some(progress) = &self.progress {
                progress(self.frames.position(), self.frames.length());
            }
            match read {
                Ok(Some(frame)) => self.records = StoredRecords::new(frame.payload),
                Ok(None) => return None,
                Err(error) => return Some(Err(ProfileError::io("read", &self.path)(error))),
            }
        }
    }
}

/// The result of checking the whole records file.
struct RecordsCheck {
    problems: Vec<String>,
    lost_records: bool,
    has_paths: bool,
    last_clock: Option<opscope_clock::ClockPair>,
}

fn check_records(directory: &Path, manifest: &Manifest) -> Result<RecordsCheck, ProfileError> {
    let path = directory.join(RECORDS);
    let file = match open_regular(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(ProfileError::NotARecording { path: directory.to_owned(), missing: RECORDS });
        }
        Err(error) => return Err(ProfileError::io("read", path)(error)),
    };
    let mut frames = FrameReader::new(file).map_err(ProfileError::io("read", &path))?;
    let (mut last_clock, mut next_sequence, mut missing_frames) = (None, 0, 0);
    let (mut dropped, mut has_paths) = (0, false);
    while let Some(frame) = frames.next().map_err(ProfileError::io("read", &path))? {
        missing_frames += frame.sequence.saturating_sub(next_sequence);
        next_sequence = frame.sequence.saturating_add(1);
        last_clock = Some(frame.clock);
        dropped = frame.dropped;
        has_paths = has_paths || StoredRecords::new(frame.payload).has_path();
    }
    let mut problems = Vec::new();
    let Damage { bytes, places } = frames.damage();
    if bytes > 0 {
        problems.push(format!("{RECORDS} has {bytes} bytes in {places} places that belong to no whole frame"));
    }
    let written = manifest.records.as_ref().map_or(next_sequence, |records| records.frames);
    missing_frames += written.saturating_sub(next_sequence);
    if missing_frames > 0 {
        problems.push(format!("{missing_frames} frames of {RECORDS} are missing"));
    }
    let counts_differ = |records: &RecordCounts| records.delivered < records.emitted;
    let lost_records = dropped > 0 || !problems.is_empty() || manifest.records.as_ref().is_some_and(counts_differ);
    Ok(RecordsCheck { problems, lost_records, has_paths, last_clock })
}

fn read_names(directory: &Path) -> Result<Names, ProfileError> {
    let path = directory.join(NAMES);
    match open_regular(&path) {
        Ok(file) => Names::read(BufReader::new(file.take(LARGEST_NAMES))).map_err(ProfileError::io("read", path)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(ProfileError::NotARecording { path: directory.to_owned(), missing: NAMES })
        }
        Err(error) => Err(ProfileError::io("read", path)(error)),
    }
}
