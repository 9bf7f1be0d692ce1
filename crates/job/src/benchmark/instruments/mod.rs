//! The instruments of a job. They are created before the first run and closed after the last.

mod capture;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope::Session;
use opscope_clock::Ticks;
use opscope_debug::{Debugger, LoadedModelHandle};
use opscope_dump::{DumpError, InputEntry};
use opscope_model::{
    Action, DeviceTensors, Dispatch, EngineError, Instrument, Interest, Iteration, KernelId, MissingCapability, Model,
    Plan, RunId, RunInfo, RunObserver, TensorMemory,
};
use opscope_profile::{Load, LoadMeter, ProfileError, RunKind};
use opscope_tensor::TensorView;

use self::capture::Capture;
use super::job::{Job, JobHooks};
use super::output::OutputPath;
use super::report::{DebuggerSummary, DumpSummary, ProfileSummary};
use crate::verify::Verification;

/// The instruments of a job.
pub(super) struct Instruments {
    /// Called first, so that the values that it replaces are the ones captured.
    debugging: Option<Debugging>,
    capture: Capture,
    load: LoadMeter,
}

/// A debugger that outlives the job.
struct Debugging {
    debugger: Debugger,
    /// The number of runs that it had stopped before the job.
    stopped_runs: u64,
    /// Announces the model as loaded until it is dropped.
    _model: LoadedModelHandle,
}

/// The results of the instruments.
#[derive(Default)]
pub(super) struct Finished {
    pub debugger: Option<DebuggerSummary>,
    pub profile: Option<ProfileSummary>,
    pub dump: Option<DumpSummary>,
    pub incomplete_because: Vec<String>,
}

/// Why an instrument cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstrumentError {
    /// The dumper cannot capture what was requested.
    #[error(transparent)]
    Dump(#[from] DumpError),
    /// The profiler cannot record.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The engine lacks a capability.
    #[error(transparent)]
    Capability(#[from] Box<MissingCapability>),
}

impl Instruments {
    /// Makes the instruments of a job. Captured data goes to `directory`.
    pub fn create(job: &Job, session: &Session, directory: Option<&Path>) -> Result<Self, InstrumentError> {
        let capture = Capture::create(job, session, directory.unwrap_or(Path::new(".")))?;
        let debugging = job.debugger.as_ref().map(|debugger| Debugging {
            stopped_runs: debugger.stopped_runs(),
            _model: session.shown_to(debugger),
            debugger: debugger.clone(),
        });
        Ok(Self { debugging, capture, load: LoadMeter::begin() })
    }

    /// Checks that the engine can do what the instruments need.
    pub fn check(&self, session: &Session) -> Result<(), InstrumentError> {
        let debugger = self.debugger().map(|debugger| debugger as &dyn Instrument);
        let mut instruments = debugger.into_iter().chain(self.capture.instrument());
        Ok(instruments.try_for_each(|instrument| session.check(instrument))?)
    }

    /// Sets the purpose of the runs that follow.
    pub fn set_run_kind(&self, kind: RunKind) {
        self.capture.set_run_kind(kind);
    }

    /// Returns whether the times of dispatches are taken.
    pub fn takes_times(&self) -> bool {
        self.capture.takes_times()
    }

    /// Returns how many bytes a run takes in a recording, or `None` until that is known.
    pub fn bytes_per_run(&self) -> Option<f64> {
        self.capture.bytes_per_run()
    }

    /// Announces a plan before its first run.
    pub fn planned(&self, model: &dyn Model, plan: &dyn Plan) -> Result<(), DumpError> {
        if let Some(debugger) = self.debugger() {
            debugger.planned(model.graph(), model.fidelity(), plan.kernels());
        }
        self.capture.planned(model, plan)
    }

    /// Sets the inputs of a run, if they are captured.
    pub fn set_inputs(&self, run: RunId, inputs: impl FnOnce() -> Arc<[InputEntry]>) {
        self.capture.set_inputs(run, inputs);
    }

    /// Returns the observers of a run, in the order in which they are called. A dumped run stops between two operators
    /// when `cancel` is set. A profiled run continues to its end, because the times of half a run are useless.
    pub fn observe<'a>(&'a self, run: &RunInfo<'a>, cancel: &'a AtomicBool) -> Vec<Box<dyn RunObserver + 'a>> {
        let debugger = self.debugger().map(|debugger| debugger.observe(run));
        debugger.into_iter().chain(self.capture.observe(run, cancel)).collect()
    }

    /// Adds to a recording how the plan runs the model.
    pub fn note(&self, verification: Option<&Verification>, notes: &[String]) {
        self.capture.note(verification, notes);
    }

    /// Measures how busy the machine is, between two runs.
    pub fn measure_load(&self) {
        self.load.measure();
    }

    /// Returns how busy the machine was, and adds that to a recording.
    pub fn end_load(&self) -> Load {
        let load = self.load.end();
        self.capture.set_load(load);
        load
    }

    /// Closes the captured data and gives it its final name. `shortfalls` are sentences about what the runs lack. They
    /// go into its manifest.
    pub fn finish(self, job: &Job, path: Option<OutputPath>, shortfalls: &[String], hooks: &JobHooks<'_>) -> Finished {
        let debugger = self.debugging.map(|debugging| DebuggerSummary {
            stopped_runs: debugging.debugger.stopped_runs() - debugging.stopped_runs,
        });
        let finished = path.map(|path| self.capture.finish(job, path, shortfalls, hooks)).unwrap_or_default();
        Finished { debugger, ..finished }
    }

    fn debugger(&self) -> Option<&Debugger> {
        self.debugging.as_ref().map(|debugging| &debugging.debugger)
    }
}

impl Finished {
    fn fall_short(&mut self, reason: String) {
        self.incomplete_because.push(reason);
    }
}

/// An observer that stops its run between two operators when a flag is set. A run at exact fidelity may take long, and
/// captured data must reach the disk soon after the user interrupts the run.
struct Interruptible<'a> {
    pub inner: Box<dyn RunObserver + 'a>,
    pub cancel: &'a AtomicBool,
}

impl Interruptible<'_> {
    fn unless_cancelled(&self, action: Action) -> Action {
        if self.cancel.load(Ordering::Relaxed) { Action::Stop("interrupted".to_owned()) } else { action }
    }
}

impl RunObserver for Interruptible<'_> {
    fn interest(&self) -> Interest {
        self.inner.interest()
    }

    fn before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        self.unless_cancelled(self.inner.before(dispatch, inputs))
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        self.unless_cancelled(self.inner.after(dispatch, outputs))
    }

    fn started(&self, kernel: KernelId, path: &[Iteration]) {
        self.inner.started(kernel, path);
    }

    fn timed(&self, kernel: KernelId, path: &[Iteration], start: Ticks, end: Ticks) {
        self.inner.timed(kernel, path, start, end);
    }

    fn allocated(&self, memory: TensorMemory, at: Ticks) {
        self.inner.allocated(memory, at);
    }

    fn freed(&self, memory: TensorMemory, at: Ticks) {
        self.inner.freed(memory, at);
    }

    fn finished(&self, outcome: Result<(Ticks, Ticks), &EngineError>) {
        self.inner.finished(outcome);
    }

    fn uploaded(&self, inputs: &dyn DeviceTensors, start: Ticks, end: Ticks) {
        self.inner.uploaded(inputs, start, end);
    }

    fn downloaded(&self, outputs: &dyn DeviceTensors, start: Ticks, end: Ticks) {
        self.inner.downloaded(outputs, start, end);
    }
}
