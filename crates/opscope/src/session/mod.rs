//! Sessions: a loaded model, its runs, and several observers of one run.

mod chain;
mod inference;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opscope_clock::Ticks;
use opscope_debug::{Debugger, LoadedModelHandle};
use opscope_model::{
    CLOCK_RESOLUTION, DeviceTensors, Engine, EngineError, Fidelity, Instrument, LoadBudget, LoadOptions,
    MissingCapability, Model, Plan, PlanForm, RunId, RunInfo, RunObserver,
};
use opscope_onnx::{Graph, OnnxError};
use opscope_producer::is_any_attached;
use opscope_profile::{Call, EngineInfo, RecordingInfo, Tracer};
use opscope_tensor::Tensor;
use opscope_trace::correlate;

pub use self::chain::Chain;
pub use self::inference::Inference;
use self::inference::compute;
use crate::consumers::FedModel;
use crate::engine::{LibraryError, embedded};

/// A model that is loaded and can run.
///
/// Started contexts ([`opscope_trace::Context`]) get the records about it that they request: when it was loaded and
/// planned, and its runs. See [`Tracer`].
pub struct Session {
    engine: Arc<dyn Engine>,
    model: Arc<dyn Model>,
    /// The model as attached consumers see it.
    fed: FedModel,
    threads: NonZeroUsize,
    budget: LoadBudget,
    loading: (Ticks, Ticks),
    /// The number of the next run.
    next_run: AtomicU64,
}

/// Why a model could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The file is not a valid model.
    #[error(transparent)]
    File(#[from] OnnxError),
    /// The engine's library cannot be used.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The engine cannot load the model.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl Session {
    /// Reads a model and loads it into the embedded engine. `threads` is the number of threads within one operator.
    ///
    /// # Errors
    /// Returns an error if the file is not a model that can run, or if the engine lacks something that the model needs.
    pub fn load(path: &Path, fidelity: Fidelity, threads: NonZeroUsize) -> Result<Self, SessionError> {
        Self::open(path, &LoadOptions::new(fidelity, threads))
    }

    /// Reads a model and loads it into the embedded engine, with any options.
    ///
    /// # Errors
    /// Returns an error if the file is not a model that can run, or if the engine lacks something that the model needs.
    pub fn open(path: &Path, options: &LoadOptions) -> Result<Self, SessionError> {
        Self::open_with(embedded(), path, options)
    }

    /// Reads a model and loads it into an engine.
    ///
    /// # Errors
    /// Returns an error if the file is not a model that can run, or if the engine lacks something that the model needs.
    pub fn open_with(engine: Arc<dyn Engine>, path: &Path, options: &LoadOptions) -> Result<Self, SessionError> {
        let start = Ticks::now();
        let graph = Arc::new(Graph::load(path)?);
        Ok(Self::load_since(start, engine, graph, options)?)
    }

    /// Loads a graph, which was already read from its file, into the embedded engine.
    ///
    /// # Errors
    /// Returns an error if the engine lacks something that the model needs.
    pub fn with_graph(graph: Arc<Graph>, options: &LoadOptions) -> Result<Self, SessionError> {
        Ok(Self::with_engine(embedded(), graph, options)?)
    }

    /// Loads a graph into an engine.
    ///
    /// # Errors
    /// Returns an error if the engine lacks something that the model needs.
    pub fn with_engine(engine: Arc<dyn Engine>, graph: Arc<Graph>, options: &LoadOptions) -> Result<Self, EngineError> {
        Self::load_since(Ticks::now(), engine, graph, options)
    }

    /// Loads a graph and announces the model to the attached consumers.
    fn load_since(
        start: Ticks,
        engine: Arc<dyn Engine>,
        graph: Arc<Graph>,
        options: &LoadOptions,
    ) -> Result<Self, EngineError> {
        let session = Self::unannounced(start, engine, graph, options)?;
        session.fed.announce(&*session.engine, &*session.model);
        Ok(session)
    }

    fn unannounced(
        start: Ticks,
        engine: Arc<dyn Engine>,
        graph: Arc<Graph>,
        options: &LoadOptions,
    ) -> Result<Self, EngineError> {
        let model = engine.load(graph, options);
        let loading = (start, Ticks::now());
        Tracer.called(Call::Load, loading.0, loading.1, model.is_err());
        let LoadOptions { threads, budget, .. } = *options;
        let (fed, next_run) = (FedModel::default(), AtomicU64::new(0));
        Ok(Self { engine, model: model?, fed, threads, budget, loading, next_run })
    }

    /// Loads the same model into the same engine with other options. Attached consumers are notified of it at its first
    /// run.
    ///
    /// # Errors
    /// Returns an error if the engine cannot load it with these options.
    pub fn with_options(&self, options: &LoadOptions) -> Result<Self, EngineError> {
        let session = Self::unannounced(Ticks::now(), Arc::clone(&self.engine), Arc::clone(self.graph()), options)?;
        Ok(Self { loading: self.loading, ..session })
    }

    /// Loads the same model with optimised plans of another form.
    ///
    /// # Errors
    /// Returns an error if the engine has no such form.
    pub fn in_form(&self, form: PlanForm) -> Result<Self, EngineError> {
        let form = Some(form);
        self.with_options(&LoadOptions { form, ..self.options(Fidelity::Optimised) })
    }

    /// Returns the options that load the same model at this fidelity, with the same threads and budget.
    pub fn options(&self, fidelity: Fidelity) -> LoadOptions {
        LoadOptions { budget: self.budget, ..LoadOptions::new(fidelity, self.threads) }
    }

    /// Makes a plan, as [`Model::plan`] does. If the engine has the plan in its cache, contexts get no record of the
    /// call.
    ///
    /// # Errors
    /// Returns an error if the inputs do not fit the model, or the engine cannot run it.
    pub fn plan(&self, inputs: &[Tensor]) -> Result<Arc<dyn Plan>, EngineError> {
        let start = Ticks::now();
        let plan = self.model.plan(inputs);
        if plan.as_ref().map_or(true, |plan| plan.made().1 >= start) {
            Tracer.called(Call::Plan, start, Ticks::now(), plan.is_err());
        }
        plan
    }

    /// Runs once, on the calling thread, and returns copies of the outputs. The instruments are called in this order.
    /// If one replaces a value, those after it see the new value. May be called from several threads at once.
    ///
    /// A program that runs a model often, or on large tensors, makes the plan and uploads the inputs itself: see
    /// [`plan`](Self::plan). It passes such a run the observer that [`observe`](Self::observe) returns.
    ///
    /// # Errors
    /// Returns an error if the inputs do not fit, the engine lacks a capability that an instrument needs, the engine
    /// fails, an instrument stopped the run, or an output has no byte form.
    pub fn run(&self, inputs: &[Tensor], instruments: &[&dyn Instrument]) -> Result<Vec<Tensor>, EngineError> {
        let (plan, id) = self.prepare_run(inputs, instruments)?;
        let info = self.run_info(&*plan, id);
        let outputs = Inference::run(&*plan, id, inputs, || self.observe(&info, instruments))?.outputs;
        let copies: Result<_, _> = outputs.into_iter().collect();
        copies.map_err(|error| EngineError::Run { node: None, reason: format!("an output cannot be copied: {error}") })
    }

    /// Runs once as [`run`](Self::run) does, but leaves the outputs in the engine's memory instead of copying them.
    ///
    /// # Errors
    /// The same as [`run`](Self::run), but an output without a byte form is not an error.
    pub fn compute(
        &self,
        inputs: &[Tensor],
        instruments: &[&dyn Instrument],
    ) -> Result<Box<dyn DeviceTensors>, EngineError> {
        let (plan, id) = self.prepare_run(inputs, instruments)?;
        let info = self.run_info(&*plan, id);
        let _correlated = correlate();
        let observer = self.observe(&info, instruments);
        Ok(compute(&*plan, id, inputs, &*observer)?.0)
    }

    /// Returns the plan for a run with these instruments, and its number.
    fn prepare_run(
        &self,
        inputs: &[Tensor],
        instruments: &[&dyn Instrument],
    ) -> Result<(Arc<dyn Plan>, RunId), EngineError> {
        instruments.iter().try_for_each(|instrument| self.check(*instrument))?;
        Ok((self.plan(inputs)?, RunId(self.next_run.fetch_add(1, Ordering::Relaxed))))
    }

    fn run_info<'a>(&'a self, plan: &'a dyn Plan, id: RunId) -> RunInfo<'a> {
        RunInfo { id, graph: self.graph(), kernels: plan.kernels(), fidelity: self.model.fidelity() }
    }

    /// Checks that the engine can do what an instrument needs in this session's runs.
    ///
    /// # Errors
    /// Returns an error that names what the engine lacks.
    pub fn check(&self, instrument: &dyn Instrument) -> Result<(), Box<MissingCapability>> {
        let fidelity = self.model.fidelity();
        let missing = instrument.requires().missing_in(self.engine.capabilities(fidelity));
        if missing.is_empty() {
            return Ok(());
        }
        let in_exact_runs = instrument.requires().missing_in(self.engine.capabilities(Fidelity::Exact));
        let exact_can = in_exact_runs.is_empty().then(|| "in exact runs it can".to_owned());
        Err(Box::new(MissingCapability {
            instrument: instrument.name().to_owned(),
            engine: format!("{} {}", self.engine.name(), self.engine.version()),
            fidelity,
            missing: missing.join(", "),
            remedy: self.engine.remedy(instrument.requires(), fidelity).or(exact_can),
        }))
    }

    /// Shows the model, and what the engine can do, to the clients of a debugger, until the handle is dropped.
    pub fn shown_to(&self, debugger: &Debugger) -> LoadedModelHandle {
        let fidelity = self.model.fidelity();
        debugger.load(self.graph(), fidelity).with_capabilities(self.engine.capabilities(fidelity))
    }

    /// Returns the observer of a run of this session's model. It combines those of the instruments, in this order, of
    /// the contexts that request records of the run, and of the attached [consumers](crate::consumers). It is for a
    /// program that calls [`Plan::run`](opscope_model::Plan::run) itself.
    pub fn observe<'a>(&self, run: &RunInfo<'a>, instruments: &[&'a dyn Instrument]) -> Box<dyn RunObserver + 'a> {
        let observers = instruments.iter().map(|instrument| instrument.observe(run));
        self.observed_by(run, observers.chain(Tracer.observe_if_wanted(run)))
    }

    /// Returns the observer of a run that combines these observers and those of the attached consumers.
    pub fn observed_by<'a>(
        &self,
        run: &RunInfo<'a>,
        observers: impl IntoIterator<Item = Box<dyn RunObserver + 'a>>,
    ) -> Box<dyn RunObserver + 'a> {
        Chain::unite(observers.into_iter().chain(self.fed.observe(&*self.engine, &*self.model, run)))
    }

    /// Returns whether the engine takes the times of kernels itself. They are then coarser than the clock, and taking
    /// them costs a part of the run.
    pub fn takes_times_from_a_profile(&self) -> bool {
        self.engine.time_resolution(self.model.fidelity()) > CLOCK_RESOLUTION
    }

    /// Returns whether consumers are notified of the runs.
    pub fn feeds_consumers(&self) -> bool {
        is_any_attached()
    }

    /// Returns the engine.
    pub fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    /// Returns the model.
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.model
    }

    /// Returns the model's graph.
    pub fn graph(&self) -> &Arc<Graph> {
        self.model.graph()
    }

    /// Returns the number of threads within one operator.
    pub fn threads(&self) -> NonZeroUsize {
        self.threads
    }

    /// Returns the start and end of loading: reading the file and loading the model, without making plans.
    pub fn loading(&self) -> (Ticks, Ticks) {
        self.loading
    }

    /// Returns the facts about the model and the engine for a recording with this many concurrent runs.
    pub fn recording_info(&self, concurrent_runs: usize) -> RecordingInfo {
        RecordingInfo { graph: self.graph().clone(), engine: self.engine_info(concurrent_runs) }
    }

    /// Returns the facts about the engine for this many concurrent runs.
    pub fn engine_info(&self, concurrent_runs: usize) -> EngineInfo {
        let resolution = self.engine.time_resolution(self.model.fidelity());
        EngineInfo {
            name: self.engine.name().to_owned(),
            version: self.engine.version().to_owned(),
            settings: self.engine.settings(),
            fidelity: self.model.fidelity(),
            threads: self.threads.get(),
            concurrent_runs,
            time_resolution_ns: u64::try_from(resolution.as_nanos()).unwrap_or(u64::MAX),
        }
    }
}
