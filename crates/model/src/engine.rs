use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use opscope_clock::Ticks;
use opscope_onnx::{Graph, ValueId};
use opscope_tensor::{Tensor, TensorView};

use crate::{Capabilities, DeviceTensors, EngineError, Fidelity, Kernel, LoadBudget, RunId, RunMemory, RunObserver};

/// An inference engine.
pub trait Engine: Send + Sync {
    /// Returns its name, such as `tract`.
    fn name(&self) -> &str;

    /// Returns its version.
    fn version(&self) -> &str;

    /// Returns what it can do at this fidelity.
    fn capabilities(&self, fidelity: Fidelity) -> Capabilities;

    /// Returns the resolution of the times that [`RunObserver::timed`] gets at this fidelity: an engine that takes its
    /// own times may round them. By default it is that of the clock.
    fn time_resolution(&self, _fidelity: Fidelity) -> Duration {
        CLOCK_RESOLUTION
    }

    /// Returns a way to give the engine the capabilities in `wanted` that it lacks at this fidelity, such as a newer
    /// library; `None` if there is none.
    fn remedy(&self, _wanted: Capabilities, _fidelity: Fidelity) -> Option<String> {
        None
    }

    /// Returns the engine's settings as names and values: those that the user chose, and those that the results depend
    /// on. Examples are the file of its library and the graph optimisation level.
    fn settings(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Returns the forms that an optimised plan can have. The first is the engine's default and the fastest. Each later
    /// form leaves out more of the rewrites, and the last leaves out all of them.
    fn forms(&self) -> Vec<PlanForm>;

    /// Initializes the data that the engine shares between all models, such as the table of its operators. The first
    /// load also does this. A process that forks while other threads load models calls this under a lock that a fork
    /// waits for. Otherwise the child could wait for ever for an initialization by a thread that only the parent has.
    fn prepare(&self) {}

    /// Loads a graph.
    ///
    /// # Errors
    /// Returns an error if the engine lacks an operator, cannot load the graph, or exceeds the budget.
    fn load(&self, graph: Arc<Graph>, options: &LoadOptions) -> Result<Arc<dyn Model>, EngineError>;
}

/// The resolution of times that are taken with [`Ticks`].
pub const CLOCK_RESOLUTION: Duration = Duration::from_nanos(1);

/// How to load a model.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// How faithfully to follow the file.
    pub fidelity: Fidelity,
    /// Threads within an operator.
    pub threads: NonZeroUsize,
    /// The form of optimised plans. `None` means the engine's default.
    pub form: Option<PlanForm>,
    /// The results of an earlier comparison of values for the kernels of such a plan.
    pub known: KnownOutputs,
    /// How much time and memory loading may take.
    pub budget: LoadBudget,
}

/// The outputs of kernels that were found to be values of the file, by the kernel's name.
pub type KnownOutputs = BTreeMap<String, Vec<KnownOutput>>;

/// An output of a kernel that was found to be a value of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownOutput {
    /// The output slot of the kernel.
    pub slot: usize,
    /// The value's name.
    pub value: String,
    /// Whether its elements are in the same order as in the file.
    pub same_order: bool,
}

/// The set of rewrites that an engine applies to an optimised plan. The engine chooses its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PlanForm(Cow<'static, str>);

/// A graph that an engine has loaded.
pub trait Model: Send + Sync {
    /// Returns the graph.
    fn graph(&self) -> &Arc<Graph>;

    /// Returns how faithfully the graph is followed.
    fn fidelity(&self) -> Fidelity;

    /// Prepares a plan for inputs of these types and shapes. Dynamic dimensions are fixed to their sizes before the
    /// engine optimises. Plans are cached, one per combination of shapes.
    ///
    /// The values matter only if the engine must know them beforehand, such as a small integer input that is a shape or
    /// an axis. Such a plan runs only with those values.
    ///
    /// # Errors
    /// Returns an error if the inputs do not fit the graph, or if the engine cannot run it.
    fn plan(&self, inputs: &[Tensor]) -> Result<Arc<dyn Plan>, EngineError>;
}

/// A model that is ready to run inputs of given shapes.
pub trait Plan: Send + Sync {
    /// Returns the kernels that every run executes, in order. How often a kernel in the body of an operator is executed
    /// is known only in the run.
    fn kernels(&self) -> &Arc<[Kernel]>;

    /// Returns when the engine began and finished to make the plan.
    fn made(&self) -> (Ticks, Ticks);

    /// Returns what a user should know about how this plan runs the model, one sentence each. Examples are an input
    /// whose size differs from the one that the file declares, and operators that are computed in another type than the
    /// file's.
    fn notes(&self) -> &[String];

    /// Returns the memory that tensors take during one run.
    fn memory(&self) -> RunMemory;

    /// Calls `visit` with every value of the file that the engine computed when it loaded the model, because the value
    /// does not depend on the data of any input. Initializers are not included. There are none unless the fidelity is
    /// exact.
    ///
    /// # Errors
    /// Returns the first error of `visit`.
    fn constants(&self, visit: &mut dyn FnMut(ValueId, TensorView<'_>) -> std::io::Result<()>) -> std::io::Result<()>;

    /// Copies inputs into the engine's memory.
    ///
    /// # Errors
    /// Returns an error if the inputs do not fit the plan.
    fn upload(&self, inputs: &[Tensor]) -> Result<Box<dyn DeviceTensors>, EngineError>;

    /// Runs once, on the calling thread. May be called from several threads at once.
    ///
    /// # Errors
    /// Returns an error if the engine fails or panics, or if the observer stopped the run.
    fn run(
        &self,
        run: RunId,
        inputs: &dyn DeviceTensors,
        observer: &dyn RunObserver,
    ) -> Result<Box<dyn DeviceTensors>, EngineError>;

    /// Runs once, as [`run`](Self::run) does, on inputs that were uploaded for this run alone. An engine may compute in
    /// place of them, and free them when the last operator has taken them. `given` is what they were uploaded from.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    fn run_once(
        &self,
        run: RunId,
        uploaded: Box<dyn DeviceTensors>,
        given: &[Tensor],
        observer: &dyn RunObserver,
    ) -> Result<Box<dyn DeviceTensors>, EngineError> {
        let _ = given;
        self.run(run, &*uploaded, observer)
    }
}

impl LoadOptions {
    /// Creates options without a plan form, known outputs, or a larger budget.
    pub fn new(fidelity: Fidelity, threads: NonZeroUsize) -> Self {
        Self { fidelity, threads, form: None, known: KnownOutputs::new(), budget: LoadBudget::default() }
    }
}

impl PlanForm {
    /// Creates the form with this name.
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Self(name.into())
    }

    /// Returns its name, such as `every rewrite` or `no rewrites`.
    pub fn name(&self) -> &str {
        &self.0
    }
}
