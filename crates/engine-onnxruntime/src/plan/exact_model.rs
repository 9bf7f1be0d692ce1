//! Plans with taps.

use std::io;
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use opscope_clock::Ticks;
use opscope_model::{
    DeviceTensors, EngineError, Fidelity, Interest, Kernel, LoadBudget, LoadOptions, Model, Plan, RunId, RunMemory,
    RunObserver, check_inputs,
};
use opscope_onnx::{Graph, OnnxError, OperatorId, Producer, ValueId};
use opscope_sys::{Mutex, MutexGuard};
use opscope_tensor::{Tensor, TensorView};
use prost::Message;

use super::limits::{self, run_memory};
use super::plan_cache::PlanCache;
use super::types::{Sizes, Types, types_in_plan};
use super::upload::{Expected, takes_as_declared, uploaded};
use super::{kernels, order};
use crate::api::{Session, Value, Values};
use crate::errors::{Refusal, load_error, run_error};
use crate::names;
use crate::options::GraphOptimizationLevel;
use crate::proto::ModelProto;
use crate::rewrite::{Apart, ExternalFiles, Holds, Taps, hold, named, tapped};
use crate::setup::Setup;
use crate::taps::{Access, Layout, Memory, Spare, Watched, unwatched, watching, with_known};

/// A model that is executed as the file has it. One session serves all shapes.
pub(crate) struct ExactModel {
    loaded: Arc<Loaded>,
    plans: PlanCache<ExactPlan>,
}

struct Loaded {
    budget: LoadBudget,
    setup: Setup,
    threads: NonZeroUsize,
    layout: Layout,
    types: Types,
    apart: Apart,
    files: ExternalFiles,
    /// The session whose taps pass values on in the same memory.
    shared: Session,
    /// The session in which an observer may replace an operator's inputs. It is created when the first such run begins.
    own: OnceLock<Result<Session, EngineError>>,
    /// The session in which an observer may keep an operator's outputs. It is created when the first such run begins.
    /// `None` if it is not possible.
    held: OnceLock<Option<HeldSession>>,
}

/// A session that holds values for other threads.
struct HeldSession {
    session: Session,
    holds: Holds,
    spare: Arc<Spare>,
    /// Locked during a run: values that are held at its end stay unchanged until the next run.
    running: Mutex<()>,
}

impl ExactModel {
    pub fn load(setup: &Setup, graph: Arc<Graph>, options: &LoadOptions) -> Result<Self, EngineError> {
        let failed = |refusal: Refusal| load_error(refusal.reason(), &graph);
        let mut model = named(&graph).map_err(failed)?;
        let files = ExternalFiles::map(&graph, &model).map_err(failed)?;
        files.name_in(&mut model);
        let plain = || setup.session_options(options.threads, GraphOptimizationLevel::Disable, true);
        let types = Types::of(&graph, &model, plain);
        limits::check(&graph, options.budget, |value| types.for_inputs(&graph, &Sizes::default(), value))?;
        let making =
            Making { setup, graph: &graph, threads: options.threads, named: &model, types: &types, files: &files };
        let mut first_error = None;
        for apart in Apart::ALL {
            match making.session(apart, Memory::Shared) {
                Ok(Tapped { session: shared, taps, order, .. }) => {
                    let kernels = kernels::exact(&graph, &taps, &order);
                    let loaded = Loaded {
                        budget: options.budget,
                        setup: setup.clone(),
                        threads: options.threads,
                        layout: Layout::new(graph, taps, kernels),
                        types,
                        apart,
                        files,
                        shared,
                        own: OnceLock::new(),
                        held: OnceLock::new(),
                    };
                    return Ok(Self { plans: PlanCache::default(), loaded: Arc::new(loaded) });
                }
                Err(error) => {
                    first_error.get_or_insert(error);
                }
            }
        }
        Err(failed(first_error.unwrap_or_default()))
    }
}

/// What a session with taps is created from.
struct Making<'a> {
    setup: &'a Setup,
    graph: &'a Graph,
    threads: NonZeroUsize,
    named: &'a ModelProto,
    types: &'a Types,
    files: &'a ExternalFiles,
}

/// A session with taps.
struct Tapped {
    session: Session,
    taps: Taps,
    /// The operators in order of execution.
    order: Vec<OperatorId>,
    holds: Holds,
}

impl Making<'_> {
    fn session(&self, apart: Apart, memory: Memory) -> Result<Tapped, Refusal> {
        let mut model = self.named.clone();
        let has_rank = |value| self.types.has_rank(self.graph, value);
        let type_of = |value| self.types.declared(self.graph, value);
        let taps = tapped(self.graph, &mut model, &has_rank, &type_of, apart);
        let order = model.graph.as_ref().map(order::of_execution).unwrap_or_default();
        let holds = if memory == Memory::Held { hold(self.graph, &mut model, &taps, &order) } else { Holds::default() };
        let known = taps.taps.iter().enumerate().map(|(number, tap)| {
            (number, tap.values.iter().map(|&value| self.types.get(value).cloned()).collect::<Vec<_>>())
        });
        let mut options = self.setup.session_options(self.threads, GraphOptimizationLevel::Disable, true)?;
        let domain = self.setup.library.taps(memory)?;
        // SAFETY: the library keeps the domain forever. The session keeps the files, which are mapped read-only.
        #[allow(unsafe_code)]
        unsafe {
            options.add_domain(domain.raw())?;
            options.external_files(self.files.directory(), &self.files.contents())?;
        }
        let (inputs, outputs) = names::of_ends(self.graph);
        let bytes = model.encode_to_vec();
        let session = with_known(known.collect(), || Session::load(&bytes, &options, &inputs, &outputs))?;
        Ok(Tapped { session, taps, order, holds })
    }
}

impl Loaded {
    /// Returns the session in which an operator's inputs may be replaced.
    fn own(&self) -> Result<&Session, EngineError> {
        let made = self.own.get_or_init(|| {
            let failed = |refusal: Refusal| load_error(refusal.reason(), &self.layout.graph);
            self.again(Memory::Own).map(|tapped| tapped.session).map_err(failed)
        });
        made.as_ref().map_err(Clone::clone)
    }

    /// Returns the session in which an operator's outputs may be kept, for one run. `None` if another run is using it,
    /// or it is not possible.
    fn held(&self) -> Option<(&HeldSession, MutexGuard<'_, ()>)> {
        let made = self.held.get_or_init(|| {
            let Tapped { session, holds, .. } = self.again(Memory::Held).ok()?;
            // Without an arena, memory goes back to the system when a run ends.
            session.has_arena().then(|| HeldSession { session, holds, spare: Arc::default(), running: Mutex::new(()) })
        });
        let made = made.as_ref()?;
        Some((made, made.running.try_lock()?))
    }

    /// Loads the model again, with other taps.
    fn again(&self, memory: Memory) -> Result<Tapped, Refusal> {
        let Self { setup, threads, types, files, .. } = self;
        let graph = &self.layout.graph;
        let mut named = named(graph)?;
        files.name_in(&mut named);
        Making { setup, graph, threads: *threads, named: &named, types, files }.session(self.apart, memory)
    }
}

impl ExactModel {
    fn make(&self, inputs: &[Tensor]) -> Result<ExactPlan, EngineError> {
        let start = Ticks::now();
        let graph = &self.loaded.layout.graph;
        takes_as_declared(graph, inputs)?;
        let sizes = Sizes::new(graph, inputs);
        limits::check(graph, self.loaded.budget, |value| self.loaded.types.for_inputs(graph, &sizes, value))?;
        let types = types_in_plan(graph, &self.loaded.setup, inputs);
        let kernels = kernels::sized(&self.loaded.layout.kernels, types);
        let memory = run_memory(graph, &kernels, inputs);
        memory.check(graph, &kernels)?;
        Ok(ExactPlan {
            loaded: Arc::clone(&self.loaded),
            expected: Expected::of(inputs),
            memory,
            kernels,
            made: (start, Ticks::now()),
        })
    }
}

impl Model for ExactModel {
    fn graph(&self) -> &Arc<Graph> {
        &self.loaded.layout.graph
    }

    fn fidelity(&self) -> Fidelity {
        Fidelity::Exact
    }

    fn plan(&self, inputs: &[Tensor]) -> Result<Arc<dyn Plan>, EngineError> {
        check_inputs(self.graph(), inputs)?;
        Ok(self.plans.find_or_make(inputs, || self.make(inputs))?)
    }
}

/// A model with taps, for inputs with given shapes.
struct ExactPlan {
    loaded: Arc<Loaded>,
    expected: Expected,
    kernels: Arc<[Kernel]>,
    memory: RunMemory,
    made: (Ticks, Ticks),
}

impl ExactPlan {
    fn execute(
        &self,
        run: RunId,
        inputs: &dyn DeviceTensors,
        observer: &dyn RunObserver,
        interest: &Interest,
    ) -> Result<Vec<Value>, EngineError> {
        let Values(values) = uploaded(inputs)?;
        let (layout, graph) = (&self.loaded.layout, &self.loaded.layout.graph);
        if interest.is_nothing() {
            let outcome = unwatched(|| self.loaded.shared.run(values, None));
            return outcome.map_err(|refusal| run_error(refusal.reason(), None, graph));
        }
        let held = if wants_held(interest) { self.loaded.held() } else { None };
        let (session, access) = match &held {
            Some((held, _)) => (&held.session, Access::Keep(&held.holds, &held.spare)),
            None if interest.replaces_inputs => (self.loaded.own()?, Access::Replace),
            None => (&self.loaded.shared, Access::Look),
        };
        let watched = Watched::new(layout, &self.kernels, run, observer, interest, inputs, access);
        let outcome = watching(&watched, || session.run(values, None)).and_then(|outputs| {
            watched.finish()?;
            Ok(outputs)
        });
        outcome.map_err(|refusal| match watched.stopped() {
            Some(reason) => EngineError::Stopped(reason),
            None => {
                let node = watched.place().and_then(|kernel| kernel.operators.first());
                run_error(refusal.reason(), node.map(|part| graph.operator(part.operator).name.clone()), graph)
            }
        })
    }
}

/// Returns whether an observer needs the session in which outputs may be kept.
fn wants_held(interest: &Interest) -> bool {
    interest.keeps && !interest.replaces_inputs
}

impl Plan for ExactPlan {
    fn kernels(&self) -> &Arc<[Kernel]> {
        &self.kernels
    }

    fn made(&self) -> (Ticks, Ticks) {
        self.made
    }

    fn notes(&self) -> &[String] {
        &[]
    }

    fn memory(&self) -> RunMemory {
        self.memory
    }

    fn constants(&self, visit: &mut dyn FnMut(ValueId, TensorView<'_>) -> io::Result<()>) -> io::Result<()> {
        let graph = &self.loaded.layout.graph;
        let computed = |value: ValueId| matches!(graph.value(value).producer, Producer::Operator(..));
        let mut found = Vec::new();
        let read = graph.constants::<OnnxError>(computed, |value, tensor| {
            found.push((value, tensor));
            Ok(())
        });
        read.map_err(io::Error::other)?;
        found.iter().try_for_each(|(value, tensor)| visit(*value, tensor.view()))
    }

    fn upload(&self, inputs: &[Tensor]) -> Result<Box<dyn DeviceTensors>, EngineError> {
        let api = *self.loaded.setup.library.api();
        self.expected.copy(api, &self.loaded.layout.graph, inputs)
    }

    fn run(
        &self,
        run: RunId,
        inputs: &dyn DeviceTensors,
        observer: &dyn RunObserver,
    ) -> Result<Box<dyn DeviceTensors>, EngineError> {
        let interest = observer.interest();
        // Loading the model again is not part of the run.
        if wants_held(&interest) {
            drop(self.loaded.held());
        } else if interest.replaces_inputs {
            let _ = self.loaded.own();
        }
        let start = Ticks::now();
        let outcome = self.execute(run, inputs, observer, &interest);
        let end = Ticks::now();
        observer.finished(outcome.as_ref().map(|_| (start, end)));
        outcome.map(|outputs| Box::new(Values(outputs)) as Box<dyn DeviceTensors>)
    }
}
