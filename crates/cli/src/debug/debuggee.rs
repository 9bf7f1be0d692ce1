//! The model that `opscope debug MODEL` runs, in this process, on threads of its own.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use opscope::debug::server::{Listen, Server, ServerOptions};
use opscope::debug::{Debugger, LoadedModelHandle};
use opscope::engine::EngineSpec;
use opscope::model::{EngineError, LoadOptions, RunId, RunInfo};
use opscope::tensor::{ScanQuery, ScanResult};
use opscope::{Session, SessionError};
use opscope_job::inputs::{InputSpec, Inputs, ShapeSpec};

use super::events::{ConsoleEvent, Inbox, RunEnd, RunOutput};
use crate::engines::with_hint;
use crate::exit::Failure;
use crate::terminal::Messages;

/// A loaded model with a debugger, and the threads that run it.
pub struct Debuggee {
    model: Arc<Loaded>,
    server: Server,
    /// How many threads start runs.
    threads: Arc<AtomicUsize>,
}

struct Loaded {
    session: Session,
    inputs: Inputs,
    debugger: Debugger,
    /// Keeps the outputs of the last run, and reports that the model is unloaded when it is dropped.
    handle: LoadedModelHandle,
    next_run: AtomicU64,
    /// How often pending runs were cancelled.
    cancelled: AtomicU64,
    /// How many runs were requested and have not begun.
    left: AtomicU64,
}

impl Debuggee {
    /// Loads a model and makes its plan. `words` are the options that gave the inputs.
    ///
    /// # Errors
    /// Returns an error if the model or its inputs cannot be used, or the system lacks a resource for the debugger.
    pub fn load(
        path: &Path,
        inputs: &InputSpec,
        shapes: &ShapeSpec,
        words: &[String],
        engine: &EngineSpec,
        options: &LoadOptions,
        messages: Messages,
    ) -> Result<Self, Failure> {
        let fidelity = options.fidelity;
        let opened = engine.open().map_err(|error| Failure::engine(&error))?;
        let refused = |error: &EngineError| with_hint(Failure::wrong_use(error), Some(error), engine, path, words);
        let session = Session::open_with(opened, path, options).map_err(|error| match &error {
            SessionError::Engine(error) => refused(error),
            other => Failure::wrong_use(other),
        })?;
        let (inputs, _) = inputs.find(session.graph(), shapes).map_err(Failure::wrong_use)?;
        messages.fed(&inputs, session.graph());
        let debugger = Debugger::new().map_err(Failure::failed)?;
        session.check(&debugger).map_err(Failure::wrong_use)?;
        let server = debugger.serve(ServerOptions { listen: Listen::Nowhere }).map_err(Failure::failed)?;
        let handle = session.shown_to(&debugger);
        let (next_run, cancelled, left) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let loaded = Loaded { session, inputs, debugger, handle, next_run, cancelled, left };
        // With the plan, the locations of breakpoints are known before the first run, and wrong inputs are reported
        // now.
        let batch = loaded.inputs.batch(loaded.session.graph(), 0).map_err(Failure::wrong_use)?;
        let plan = loaded.session.model().plan(&batch.tensors).map_err(|error| refused(&error))?;
        loaded.debugger.planned(loaded.session.graph(), fidelity, plan.kernels());
        Ok(Self { model: Arc::new(loaded), server, threads: Arc::default() })
    }

    /// Connects to the debugger.
    ///
    /// # Errors
    /// Returns an error if the system has no descriptor left.
    pub fn connect(&self) -> io::Result<UnixStream> {
        self.server.connect()
    }

    /// Starts `runs` runs, one after the other, on each of `threads` threads. The end of each is posted to the inbox.
    ///
    /// # Errors
    /// Returns an error if the system has no thread left.
    pub fn start(&self, runs: u64, threads: usize, inbox: &Arc<Inbox>) -> io::Result<()> {
        let cancelled = self.model.cancelled.load(Ordering::Relaxed);
        for _ in 0..threads {
            let (model, inbox, counter) = (Arc::clone(&self.model), Arc::clone(inbox), Arc::clone(&self.threads));
            let work = move || {
                for begun in 0..runs {
                    if model.cancelled.load(Ordering::Relaxed) != cancelled {
                        model.left.fetch_sub(runs - begun, Ordering::Relaxed);
                        break;
                    }
                    model.left.fetch_sub(1, Ordering::Relaxed);
                    let run = RunId(model.next_run.fetch_add(1, Ordering::Relaxed));
                    let outcome = model.run(run).map_err(|error| error.to_string());
                    inbox.post(ConsoleEvent::RunEnded(RunEnd { run, outcome }));
                }
                counter.fetch_sub(1, Ordering::Release);
                inbox.post(ConsoleEvent::ThreadDone);
            };
            self.threads.fetch_add(1, Ordering::Relaxed);
            self.model.left.fetch_add(runs, Ordering::Relaxed);
            if let Err(error) = thread::Builder::new().name("runs".into()).spawn(work) {
                self.threads.fetch_sub(1, Ordering::Relaxed);
                self.model.left.fetch_sub(runs, Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Returns how many threads start runs, including those with a stopped run.
    pub fn threads(&self) -> usize {
        self.threads.load(Ordering::Acquire)
    }

    /// Returns how many runs were requested and have not begun.
    pub fn left(&self) -> u64 {
        self.model.left.load(Ordering::Relaxed)
    }

    /// Cancels the runs that have not begun.
    pub fn cancel(&self) {
        self.model.cancelled.fetch_add(1, Ordering::Relaxed);
    }
}

impl Loaded {
    fn run(&self, run: RunId) -> Result<Vec<RunOutput>, RunError> {
        let graph = self.session.graph();
        let batch = self.inputs.batch(graph, (run.0 % self.inputs.len() as u64) as usize)?;
        let plan = self.session.model().plan(&batch.tensors)?;
        let fidelity = self.session.model().fidelity();
        self.debugger.planned(graph, fidelity, plan.kernels());
        let resident = plan.upload(&batch.tensors)?;
        let info = RunInfo { id: run, graph, kernels: plan.kernels(), fidelity };
        let observer = self.session.observe(&info, &[&self.debugger]);
        let outputs = plan.run(run, &*resident, &*observer)?;
        let output = |(slot, &id): (usize, &opscope::onnx::ValueId)| {
            let view = outputs.view(slot);
            let (dtype, shape) = (view.dtype(), view.shape().to_vec());
            // A tensor without bytes, such as one of strings, has no NaN.
            let ScanResult { nan, infinite, .. } = ScanResult::of(&view, ScanQuery::NON_FINITE).unwrap_or_default();
            RunOutput { name: graph.value(id).name.clone(), dtype, shape, nan, infinite }
        };
        let described = graph.outputs.iter().enumerate().map(output).collect();
        self.handle.keep_outputs(outputs.into());
        Ok(described)
    }
}

/// Why a run has no outputs.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error(transparent)]
    Input(#[from] opscope_job::inputs::InputError),
    #[error(transparent)]
    Engine(#[from] EngineError),
}
