//! A loaded model, and the table of all of them.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use opscope::Session;
use opscope::consumers::attach;
use opscope_border::exported;
use opscope_sys::{Mutex, MutexGuard};

use super::gears::{Gear, Gears};
use super::port::Port;
use crate::border::{Failure, codes};
use crate::dump::wait_for_runs;
use crate::forks::Shared;
use crate::{dump, recordings};

/// The number by which a program knows a model. Numbers count up from 1, and are never reused.
pub type ModelId = u32;

/// A loaded model.
pub struct Model {
    pub id: ModelId,
    pub session: Session,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
    pub gears: Option<Arc<Gears>>,
    /// The gear that the program chose last.
    chosen: Mutex<Option<usize>>,
    /// The result of the last run. A run holds the lock, so that only one run takes place at a time.
    running: Mutex<LastRun>,
}

/// The result of a run that the model keeps.
#[derive(Default)]
pub struct LastRun {
    /// The shapes of the outputs; empty before the first run.
    pub output_shapes: Vec<Vec<usize>>,
}

/// A run in progress, as long as this lives.
pub struct Running<'a> {
    pub last: MutexGuard<'a, LastRun>,
    /// The model that this thread was running before, and continues to run afterwards; 0 for none.
    outer: ModelId,
}

thread_local! {
    /// The model that this thread is running; 0 for none.
    static RUNS: Cell<ModelId> = const { Cell::new(0) };
}

impl Model {
    /// Makes a model that has not run yet.
    pub fn new(id: ModelId, session: Session, gears: Option<Arc<Gears>>) -> Self {
        let graph = session.graph();
        let (inputs, outputs) = (Port::of(graph, &graph.inputs), Port::of(graph, &graph.outputs));
        Self { id, session, inputs, outputs, gears, chosen: Mutex::default(), running: Mutex::default() }
    }

    /// Returns whether the shapes of all inputs are fixed, so that the program need not set them.
    pub fn is_static(&self) -> bool {
        self.inputs.iter().all(|input| input.fixed().is_some())
    }

    /// Notes that the program chose a gear.
    pub fn choose(&self, gear: usize) {
        *self.chosen.lock() = Some(gear);
    }

    /// Returns the gear that the program chose last.
    pub fn chosen(&self) -> Option<&Gear> {
        let chosen = *self.chosen.lock();
        self.gears.as_ref()?.all.get(chosen?)
    }

    /// Begins a run, after the model's previous run has ended.
    ///
    /// # Errors
    /// Returns an error if this thread is running the model already, and would wait for itself.
    pub fn run(&self) -> Result<Running<'_>, Failure> {
        if self.runs_here() {
            let text = format!("model {} runs on this thread already, and waits for this call to return", self.id);
            return Err(Failure::new(codes::RT_MODEL_EXECUTE, "EE1001", text));
        }
        let last = self.last_run();
        Ok(Running { last, outer: RUNS.replace(self.id) })
    }

    /// Waits for the run in progress. Does not wait if a callback of that run calls this.
    pub fn wait(&self) {
        if !self.runs_here() {
            drop(self.last_run());
        }
    }

    /// Returns the shapes of the outputs of the last run. Empty before the first run has ended, and inside a run on
    /// this thread.
    pub fn last_output_shapes(&self) -> Vec<Vec<usize>> {
        if self.runs_here() { Vec::new() } else { self.last_run().output_shapes.clone() }
    }

    fn runs_here(&self) -> bool {
        RUNS.get() == self.id
    }

    fn last_run(&self) -> MutexGuard<'_, LastRun> {
        wait_for_runs(|| self.running.lock())
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        RUNS.set(self.outer);
    }
}

/// The loaded models. The child of a fork has none, because a run on another thread of the parent would never end in
/// the child. For the same reason, the child does not drop them.
static MODELS: Shared<BTreeMap<ModelId, Arc<Model>>> =
    Shared::new(BTreeMap::new(), || MODELS.held(|models| std::mem::forget(std::mem::take(models))));
static NEXT: AtomicU32 = AtomicU32::new(1);

/// Returns the number of the next model.
pub(super) fn next_id() -> ModelId {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Adds a model.
pub(super) fn add(model: Model) {
    MODELS.lock().insert(model.id, Arc::new(model));
}

/// Returns a model that is loaded.
pub fn find(id: ModelId) -> Result<Arc<Model>, Failure> {
    MODELS.read().get(&id).cloned().ok_or_else(|| missing(id))
}

/// Unloads a model, after the run in progress has ended. Runs that are queued in streams still take place.
#[exported]
pub fn aclmdlUnload(model_id: u32) -> Result<(), Failure> {
    let removed = MODELS.lock().remove(&model_id);
    removed.ok_or_else(|| missing(model_id))?.wait();
    dump::unloaded(model_id);
    recordings::unloaded(model_id);
    Ok(())
}

fn missing(id: ModelId) -> Failure {
    let code = codes::GE_EXEC_MODEL_ID_INVALID;
    Failure::wrong_value_of(code, "modelId", id, "no such model is loaded, or it was unloaded")
}

/// The name by which consumers know programs that use this library.
const PROGRAM: &CStr = c"libascendcl";

/// Attaches the consumers, before the first model is loaded.
pub(super) fn attach_once() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    // Takes no lock, because a consumer may itself load a model while it is attached. Models that are loaded meanwhile
    // are announced to consumers at their next run.
    if !BEGUN.swap(true, Ordering::AcqRel) {
        drop(attach(PROGRAM));
    }
}
