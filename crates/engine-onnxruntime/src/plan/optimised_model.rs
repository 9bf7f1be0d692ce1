//! Plans that ONNX Runtime optimises.

use std::io;
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::{
    DeviceTensors, EngineError, Fidelity, Interest, Kernel, LoadBudget, LoadOptions, Model, Plan, RunId, RunMemory,
    RunObserver, check_inputs,
};
use opscope_onnx::{Graph, ValueId};
use opscope_tensor::{Tensor, TensorView};
use prost::Message;

use super::limits::{self, run_memory};
use super::plan_cache::PlanCache;
use super::types::{Sizes, Types, types_in_plan};
use super::upload::{Expected, takes_as_declared, uploaded};
use super::written_graph;
use crate::api::{RunOptions, Session, Value, Values};
use crate::attribution::Attributed;
use crate::errors::{Refusal, load_error, run_error};
use crate::names;
use crate::options::GraphOptimizationLevel;
use crate::rewrite::{ExternalFiles, named};
use crate::setup::Setup;
use crate::times::KernelTimes;

/// A model that ONNX Runtime has optimised. One session serves all shapes.
pub(crate) struct OptimisedModel {
    loaded: Arc<Loaded>,
    plans: PlanCache<OptimisedPlan>,
}

struct Loaded {
    budget: LoadBudget,
    graph: Arc<Graph>,
    setup: Setup,
    session: Session,
    /// What is known about values before any shapes are known.
    types: Types,
    /// The kernels that the session runs; `None` if the library could not write its graph.
    kernels: Option<Kernels>,
    /// The files that the session reads weights from.
    _files: ExternalFiles,
}

/// The nodes that a session runs, what they stand for, and how their times are found.
struct Kernels {
    attributed: Attributed,
    times: KernelTimes,
}

/// The note of a plan whose graph the library could not write.
const NOT_WRITTEN: &str = "ONNX Runtime could not write the graph that it runs, as it cannot above two gigabytes, so the \
                           times of single operators are not known";

impl OptimisedModel {
    pub fn load(
        setup: &Setup,
        graph: Arc<Graph>,
        options: &LoadOptions,
        level: GraphOptimizationLevel,
    ) -> Result<Self, EngineError> {
        let failed = |refusal: Refusal| load_error(refusal.reason(), &graph);
        let mut model = named(&graph).map_err(failed)?;
        let files = ExternalFiles::map(&graph, &model).map_err(failed)?;
        files.name_in(&mut model);
        let mut session = setup.session_options(options.threads, level, false).map_err(failed)?;
        // SAFETY: the session keeps the files, which are mapped read-only.
        #[allow(unsafe_code)]
        unsafe { session.external_files(files.directory(), &files.contents()) }.map_err(failed)?;
        let plain = || setup.session_options(options.threads, GraphOptimizationLevel::Disable, true);
        let types = Types::of(&graph, &model, plain);
        limits::check(&graph, options.budget, |value| types.for_inputs(&graph, &Sizes::default(), value))?;
        let (inputs, outputs) = names::of_ends(&graph);
        let (session, written) =
            written_graph::load(&model.encode_to_vec(), limits::weights(&graph), &mut session, &inputs, &outputs)
                .map_err(failed)?;
        let kernels = written.map(|written| {
            let attributed = Attributed::new(&graph, &written);
            let times = KernelTimes::new(&attributed.written.nodes, &attributed.written.inner_names);
            Kernels { attributed, times }
        });
        let setup = setup.clone();
        Ok(Self {
            plans: PlanCache::default(),
            loaded: Arc::new(Loaded { budget: options.budget, graph, setup, session, types, kernels, _files: files }),
        })
    }
}

impl OptimisedModel {
    fn make(&self, inputs: &[Tensor]) -> Result<OptimisedPlan, EngineError> {
        let start = Ticks::now();
        let graph = &self.loaded.graph;
        takes_as_declared(graph, inputs)?;
        let not_written = self.loaded.kernels.is_none().then(|| NOT_WRITTEN.to_owned());
        let notes = not_written.into_iter().collect();
        let sizes = Sizes::new(graph, inputs);
        limits::check(graph, self.loaded.budget, |value| self.loaded.types.for_inputs(graph, &sizes, value))?;
        let kernels = match &self.loaded.kernels {
            Some(known) => known.attributed.kernels(graph, types_in_plan(graph, &self.loaded.setup, inputs)),
            None => Arc::new([]),
        };
        let memory = run_memory(graph, &kernels, inputs);
        memory.check(graph, &kernels)?;
        Ok(OptimisedPlan {
            loaded: Arc::clone(&self.loaded),
            expected: Expected::of(inputs),
            kernels,
            memory,
            notes,
            made: (start, Ticks::now()),
        })
    }
}

impl Model for OptimisedModel {
    fn graph(&self) -> &Arc<Graph> {
        &self.loaded.graph
    }

    fn fidelity(&self) -> Fidelity {
        Fidelity::Optimised
    }

    fn plan(&self, inputs: &[Tensor]) -> Result<Arc<dyn Plan>, EngineError> {
        check_inputs(self.graph(), inputs)?;
        Ok(self.plans.find_or_make(inputs, || self.make(inputs))?)
    }
}

/// A model for inputs with given shapes.
struct OptimisedPlan {
    loaded: Arc<Loaded>,
    expected: Expected,
    kernels: Arc<[Kernel]>,
    memory: RunMemory,
    notes: Vec<String>,
    made: (Ticks, Ticks),
}

impl Plan for OptimisedPlan {
    fn kernels(&self) -> &Arc<[Kernel]> {
        &self.kernels
    }

    fn made(&self) -> (Ticks, Ticks) {
        self.made
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn memory(&self) -> RunMemory {
        self.memory
    }

    fn constants(&self, _visit: &mut dyn FnMut(ValueId, TensorView<'_>) -> io::Result<()>) -> io::Result<()> {
        Ok(())
    }

    fn upload(&self, inputs: &[Tensor]) -> Result<Box<dyn DeviceTensors>, EngineError> {
        self.expected.lend(*self.loaded.setup.library.api(), &self.loaded.graph, inputs)
    }

    fn run(
        &self,
        _run: RunId,
        inputs: &dyn DeviceTensors,
        observer: &dyn RunObserver,
    ) -> Result<Box<dyn DeviceTensors>, EngineError> {
        let interest = observer.interest();
        let (outcome, times) = match interest.times || interest.starts {
            true => self.run_timed(inputs, &interest, observer),
            false => self.run_plain(inputs),
        };
        observer.finished(outcome.as_ref().map(|_| times));
        outcome.map(|outputs| Box::new(Values(outputs)) as Box<dyn DeviceTensors>)
    }
}

/// The result of a run, and when the library ran the model.
type Outcome = (Result<Vec<Value>, EngineError>, (Ticks, Ticks));

impl OptimisedPlan {
    fn run_plain(&self, inputs: &dyn DeviceTensors) -> Outcome {
        let start = Ticks::now();
        let outcome = self.run_with(inputs, None);
        (outcome, (start, Ticks::now()))
    }

    fn run_timed(&self, inputs: &dyn DeviceTensors, interest: &Interest, observer: &dyn RunObserver) -> Outcome {
        let now = Ticks::now();
        let failed = |reason: &str| (Err(EngineError::Run { node: None, reason: reason.to_owned() }), (now, now));
        let Some(Kernels { times, .. }) = &self.loaded.kernels else { return failed(NOT_WRITTEN) };
        let prepare = || -> Result<_, Refusal> {
            let profile = times.profile()?;
            let mut options = RunOptions::new(*self.loaded.setup.library.api())?;
            options.enable_profiling(&profile.prefix())?;
            Ok((profile, options))
        };
        let (profile, options) = match prepare() {
            Ok(prepared) => prepared,
            Err(refusal) => return failed(refusal.reason()),
        };
        let start = Ticks::now();
        let outcome = self.run_with(inputs, Some(&options));
        let called = (start, Ticks::now());
        if outcome.is_err() {
            return (outcome, called);
        }
        let ran = times.report(&profile, called, interest, self.kernels.len(), observer);
        (outcome, ran)
    }

    fn run_with(&self, inputs: &dyn DeviceTensors, options: Option<&RunOptions>) -> Result<Vec<Value>, EngineError> {
        let Values(inputs) = uploaded(inputs)?;
        let run = self.loaded.session.run(inputs, options);
        let outputs = run.and_then(|outputs| outputs.into_iter().map(|output| output.apart_from(inputs)).collect());
        outputs.map_err(|refusal: Refusal| run_error(refusal.reason(), None, &self.loaded.graph))
    }
}
