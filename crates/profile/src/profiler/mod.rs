mod named_items;
#[cfg(test)]
mod time_tests;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use opscope_clock::{Clock, Ticks};
use opscope_model::{Capabilities, Instrument, OpenRunInfo, RunInfo, RunObserver};
use opscope_onnx::Graph;
use opscope_sys::{Mutex, MutexGuard};
use opscope_text::shown_size;
use opscope_trace::{
    Buffer, BufferOptions, Bytes, CallbackThread, Context, DispatchRecord, Kind, MarkerRecord, OpenRanges, Operation,
    Operations, PathLevel, Record, TraceError, current_correlation, open_ranges,
};

use crate::load::Load;
use crate::recording::{
    BUFFER, Call, EngineInfo, LostRecords, Manifest, RangeKey, RecordingWriter, RecordsFile, RecordsSize, RunKind,
    remove,
};
use crate::run::{Destination, RecordedRun, WantedKinds, engine_call};
use crate::sampler::Sampler;
use crate::{ProfileError, ProfilerOptions, Switches};
use named_items::{NamedItems, OpenRun, manifest};

/// The model and the engine of a recording.
#[derive(Debug, Clone)]
pub struct RecordingInfo {
    /// The model's graph.
    pub graph: Arc<Graph>,
    /// The engine.
    pub engine: EngineInfo,
}

/// The instrument that records what ran and when.
///
/// Until it is finished, it also records the markers and counters of the user's code, [`opscope_trace::range`],
/// [`opscope_trace::mark`] and [`opscope_trace::counter`], on every thread of the process.
///
/// A dispatch costs one record, which is written to memory that belongs to the calling thread. No name is looked up and
/// nothing is allocated. A thread of the profiler writes the records to the recording's directory.
///
/// ```
/// use std::sync::Arc;
///
/// use opscope_model::Fidelity;
/// use opscope_onnx::Graph;
/// use opscope_profile::{EngineInfo, Profiler, ProfilerOptions, Recording, RecordingInfo};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let root = tempfile::tempdir()?;
/// # let directory = root.path().join("recording");
/// let info = RecordingInfo {
///     graph: Arc::new(Graph::load("../../models/digits_cnn.onnx".as_ref())?),
///     engine: EngineInfo::new("tract", "0.23", Fidelity::Optimised),
/// };
/// let profiler = Profiler::create(&directory, &info, &ProfilerOptions::default())?;
/// {
///     let _range = opscope_trace::range("decode");
///     // Here the engine runs the model, with the profiler as its instrument.
/// }
/// profiler.finish()?;
/// let account = Recording::open(&directory)?.account()?;
/// assert_eq!(account.ranges[0].range, "decode");
/// # Ok(())
/// # }
/// ```
pub struct Profiler {
    switches: Switches,
    /// The context of the user's markers and counters. It is started while this records.
    user: Context,
    buffer: Buffer,
    records: Arc<Mutex<RecordsFile>>,
    writer: RecordingWriter,
    known: Mutex<NamedItems>,
    /// The kind of the runs that begin from now on, as the operation of their records.
    kind: AtomicU32,
    /// The current size of the recording.
    written: Arc<RecordsSize>,
    budget: u64,
    runs_beyond_budget: AtomicU64,
    refused: AtomicU64,
    /// The number of dispatches whose times the engine lost.
    untimed: AtomicU64,
    shortfalls: Mutex<Vec<String>>,
    notes: Mutex<Vec<String>>,
    load: Mutex<Option<Load>>,
    sampler: Option<Sampler>,
}

impl Profiler {
    /// Creates the recording's directory, which must not exist, and begins to record. Until [`finish`](Self::finish)
    /// the recording says that it is incomplete.
    ///
    /// # Errors
    /// Returns an error if the directory exists, a file cannot be written, or there is no memory or thread for records.
    pub fn create(directory: &Path, info: &RecordingInfo, options: &ProfilerOptions) -> Result<Self, ProfileError> {
        Self::with_clock(directory, info, options, &Clock::system())
    }

    /// Works like [`create`](Self::create), but takes samples and writes records at intervals of this clock.
    fn with_clock(
        directory: &Path,
        info: &RecordingInfo,
        options: &ProfilerOptions,
        clock: &Clock,
    ) -> Result<Self, ProfileError> {
        let (writer, records) = RecordingWriter::create(directory, manifest(info, options))?;
        Self::begin(directory, writer, records, info, options, clock).inspect_err(|_| remove(directory))
    }

    fn begin(
        directory: &Path,
        writer: RecordingWriter,
        records: RecordsFile,
        info: &RecordingInfo,
        options: &ProfilerOptions,
        clock: &Clock,
    ) -> Result<Self, ProfileError> {
        let written = records.written();
        let records = Arc::new(Mutex::new(records));
        let refused = |error: TraceError| ProfileError::Trace(error.to_string());
        let buffer = buffer(directory, options, clock, Arc::clone(&records)).map_err(refused)?;
        let mut known = NamedItems::default();
        known.graph(&info.graph, &writer);
        let sampler = Sampler::start(options, &buffer, clock)?;
        let user = user_context(&buffer).map_err(refused)?;
        Ok(Self {
            switches: options.switches,
            user,
            buffer,
            records,
            writer,
            known: Mutex::new(known),
            kind: AtomicU32::new(RunKind::Measured as u32),
            written,
            budget: options.budget.map_or(u64::MAX, Bytes::get),
            runs_beyond_budget: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            untimed: AtomicU64::new(0),
            shortfalls: Mutex::default(),
            notes: Mutex::default(),
            load: Mutex::default(),
            sampler,
        })
    }

    /// Sets the kind of the runs that begin from now on. The default is measured.
    pub fn set_run_kind(&self, kind: RunKind) {
        self.kind.store(kind as u32, Ordering::Relaxed);
    }

    /// Returns whether it takes the times of dispatches.
    pub fn takes_times(&self) -> bool {
        self.switches.dispatches
    }

    /// Returns the mean number of bytes of a run in the recording; `None` before the first runs were written.
    pub fn bytes_per_run(&self) -> Option<f64> {
        self.written.bytes_per_run()
    }

    /// Marks the recording as incomplete. The reason is a sentence for the manifest, for example that the runs were
    /// interrupted.
    pub fn set_incomplete(&self, reason: impl Into<String>) {
        self.shortfalls.lock().push(reason.into());
    }

    /// Adds a sentence to the manifest for readers of the recording, for example that the plan was verified, or how it
    /// runs the model.
    pub fn note(&self, note: impl Into<String>) {
        self.notes.lock().push(note.into());
    }

    /// Sets the load of the machine. Without this call, the recording has the load averages at its beginning and its
    /// end.
    pub fn set_load(&self, load: Load) {
        *self.load.lock() = Some(load);
    }

    /// Records a call of the engine that loaded the model or made a plan. The calls of a run are recorded by its
    /// observer.
    pub fn called(&self, call: Call, start: Ticks, end: Ticks) {
        if self.switches.calls {
            self.emit(&engine_call(call, None, current_correlation(), (start, end), false));
        }
    }

    /// Writes the records that are still in memory and closes the recording, which is complete if nothing is missing.
    /// If the profiler is dropped instead, the recording stays incomplete.
    ///
    /// # Errors
    /// Returns an error if the manifest cannot be written, or if the trace buffer cannot be flushed. Records that could
    /// not be written are not an error: the manifest lists them.
    pub fn finish(mut self) -> Result<Manifest, ProfileError> {
        self.sampler = None;
        let has_ended = self.runs_beyond_budget.load(Ordering::Relaxed) > 0;
        let open = if has_ended { OpenRanges::default() } else { self.watch_open_ranges() };
        let flushed = self.stop_recording(&open);
        let statistics = self.buffer.statistics();
        flushed.and_then(|()| self.buffer.destroy()).map_err(|error| ProfileError::Trace(error.to_string()))?;
        let end = self.records().end();
        let shortfalls = self.shortfalls.into_inner();
        let notes = self.notes.into_inner();
        let load = self.load.into_inner();
        let lost = LostRecords {
            refused: self.refused.into_inner(),
            untimed: self.untimed.into_inner(),
            runs_beyond_budget: self.runs_beyond_budget.into_inner(),
        };
        let notes = beyond_budget(lost.runs_beyond_budget, self.budget).into_iter().chain(notes).collect();
        self.writer.close(&statistics, lost, end, shortfalls, notes, load)
    }

    /// Returns the open ranges, and begins to collect the ranges that end.
    fn watch_open_ranges(&self) -> OpenRanges {
        self.records().collect_ended_ranges();
        open_ranges()
    }

    /// Stops recording the user's markers, and writes everything. The ranges in `open` that have not ended since then
    /// come last. So each range is recorded once.
    fn stop_recording(&self, open: &OpenRanges) -> Result<(), TraceError> {
        // It is already stopped if all tracing was shut down.
        let _ = self.user.stop();
        self.buffer.flush()?;
        let ended = self.records().take_ended_ranges();
        let is_open = |range: &&MarkerRecord| !ended.contains(&RangeKey::of(range));
        open.records.iter().filter(is_open).for_each(|range| self.emit(range));
        if open.omitted > 0 {
            self.set_incomplete(format!("{} ranges that were open at the end were not recorded", open.omitted));
        }
        self.buffer.flush()
    }

    fn records(&self) -> MutexGuard<'_, RecordsFile> {
        self.records.lock()
    }

    #[cold]
    fn refuse(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether a run that begins now is recorded. The run in which the recording reached its budget is the last
    /// one. From then on the user's markers are not recorded either, and open ranges end there.
    fn has_room(&self) -> bool {
        if self.written.bytes() < self.budget {
            return true;
        }
        if self.runs_beyond_budget.fetch_add(1, Ordering::Relaxed) == 0 {
            let open = self.watch_open_ranges();
            // If the flush fails now, it also fails when the recording is closed, which reports the error.
            let _ = self.stop_recording(&open);
        }
        false
    }

    /// Returns the kinds of records that a run emits.
    fn wanted(&self) -> WantedKinds {
        let Switches { runs, dispatches, calls, tensor_memory, .. } = self.switches;
        WantedKinds { runs, dispatches, copies: calls, calls, tensor_memory }
    }

    /// Returns the kinds of records that a run emits that begins now, and the operation of its own record.
    fn begin_run(&self) -> (WantedKinds, Operation) {
        let operation = Operation(self.kind.load(Ordering::Relaxed));
        let mut wanted = if self.has_room() { self.wanted() } else { WantedKinds::default() };
        wanted.dispatches &= operation != RunKind::Untimed.into();
        (wanted, operation)
    }

    fn known(&self) -> MutexGuard<'_, NamedItems> {
        self.known.lock()
    }
}

impl Instrument for Profiler {
    fn name(&self) -> &str {
        "profiler"
    }

    fn requires(&self) -> Capabilities {
        Capabilities { times: self.switches.dispatches, memory: self.switches.tensor_memory, ..Capabilities::default() }
    }

    fn observe<'a>(&'a self, run: &RunInfo<'a>) -> Box<dyn RunObserver + 'a> {
        let plan = {
            let mut known = self.known();
            known.thread(&self.writer);
            known.plan(run, &self.writer)
        };
        let (wanted, operation) = self.begin_run();
        Box::new(RecordedRun::new(self, wanted, run.id, plan, operation))
    }

    fn observe_open(self: Arc<Self>, run: &OpenRunInfo<'_>) -> Option<Arc<dyn RunObserver + Send + Sync>> {
        let plan = {
            let mut known = self.known();
            known.thread(&self.writer);
            known.open_plan(run, &self.writer)
        };
        let (wanted, operation) = self.begin_run();
        Some(Arc::new(OpenRun::new(self, wanted, run.id, plan, operation)))
    }
}

impl Destination for Profiler {
    #[inline]
    fn emit<R: Record>(&self, record: &R) {
        if self.buffer.emit(record).is_err() {
            self.refuse();
        }
    }

    fn emit_with_path(&self, record: &DispatchRecord, path: impl ExactSizeIterator<Item = PathLevel>) {
        if self.buffer.emit_with_path(record, path).is_err() {
            self.refuse();
        }
    }

    fn lose(&self, dispatches: u64) {
        self.untimed.fetch_add(dispatches, Ordering::Relaxed);
    }
}

/// Returns the manifest's sentence on the runs after the recording had reached its budget; `None` if there were none.
fn beyond_budget(runs: u64, budget: u64) -> Option<String> {
    let budget = shown_size(budget);
    (runs > 0)
        .then(|| format!("the recording ended at its budget of {budget}; the {runs} runs after that are not in it"))
}

/// Returns a started context that traces the user's markers and counters, and the retirement of correlation ids, into
/// the profiler's buffer.
fn user_context(buffer: &Buffer) -> Result<Context, TraceError> {
    let context = Context::create();
    for kind in [Kind::Marker, Kind::Counter, Kind::CorrelationRetirement] {
        context.configure(kind, Operations::All, buffer)?;
    }
    context.start()?;
    Ok(context)
}

fn buffer(
    directory: &Path,
    options: &ProfilerOptions,
    clock: &Clock,
    records: Arc<Mutex<RecordsFile>>,
) -> Result<Buffer, TraceError> {
    let options = BufferOptions {
        size: options.buffer_size,
        watermark: options.watermark,
        policy: options.when_full,
        interval: Some(options.flush_interval),
        reports_drops: false,
        thread: CallbackThread::with_clock("opscope-profile", clock.clone()),
        file: options.survives_crash.then(|| directory.join(BUFFER)),
    };
    Buffer::create(options, move |batch| records.lock().write(batch))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use opscope_model::Fidelity;
    use opscope_trace::MarkerOperation;
    use tempfile::TempDir;

    use super::*;
    use crate::Recording;
    use crate::recording::{Fact, test_recording};

    #[test]
    fn a_range_that_ends_while_the_profiler_stops_is_recorded_once() {
        let root = tempfile::tempdir().expect("a directory");
        let (directory, profiler) = begun(&root, &ProfilerOptions::default());
        let (ends, stays) = (opscope_trace::range("ends meanwhile"), opscope_trace::range("stays open"));
        let open = profiler.watch_open_ranges();
        drop(ends);
        profiler.stop_recording(&open).expect("the buffer is not destroyed");
        let recording = Recording::open(&directory).expect("a recording");
        assert_eq!(operations(&recording, "ends meanwhile"), [MarkerOperation::Range]);
        assert_eq!(operations(&recording, "stays open"), [MarkerOperation::OpenRange]);
        drop(stays);
    }

    /// Returns the directory of a new recording, and its profiler.
    fn begun(root: &TempDir, options: &ProfilerOptions) -> (PathBuf, Profiler) {
        let directory = root.path().join("recording");
        let engine = EngineInfo::new("paper", "1", Fidelity::Optimised);
        let info = RecordingInfo { graph: test_recording::graph(), engine };
        let profiler = Profiler::create(&directory, &info, options).expect("a new directory");
        (directory, profiler)
    }

    /// Returns the operations of the recorded ranges with this name.
    fn operations(recording: &Recording, name: &str) -> Vec<MarkerOperation> {
        let facts = recording.facts().expect("records").map(|fact| fact.expect("a record"));
        let named = |fact| match fact {
            Fact::Marker(marker) if recording.marker(marker.name) == Some(name) => Some(marker.operation),
            _ => None,
        };
        facts.filter_map(named).collect()
    }

    #[test]
    fn ranges_that_are_open_when_the_recording_reaches_its_budget_end_with_it() {
        let root = tempfile::tempdir().expect("a directory");
        let options = ProfilerOptions { budget: Some(Bytes::new(1)), ..ProfilerOptions::default() };
        let (directory, profiler) = begun(&root, &options);
        let (ends, stays) = (opscope_trace::range("ends after it"), opscope_trace::range("stays open to the end"));
        drop(opscope_trace::range("ended before"));
        profiler.buffer.flush().expect("the buffer is not destroyed");
        assert!(!profiler.has_room());
        drop(ends);
        assert!(!profiler.has_room());
        drop(opscope_trace::range("began after it"));
        let manifest = profiler.finish().expect("a manifest");
        assert_eq!(manifest.records.map(|records| records.runs_beyond_budget), Some(2));
        let recording = Recording::open(&directory).expect("a recording");
        assert_eq!(operations(&recording, "ended before"), [MarkerOperation::Range]);
        assert_eq!(operations(&recording, "ends after it"), [MarkerOperation::OpenRange]);
        assert_eq!(operations(&recording, "stays open to the end"), [MarkerOperation::OpenRange]);
        assert_eq!(operations(&recording, "began after it"), []);
        drop(stays);
    }
}
