use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_onnx::{Graph, ValueId};
use opscope_tensor::{Tensor, TensorView};

use crate::{Capabilities, EngineError, Fidelity, Kernel, LoadBudget, RunId, RunMemory, RunObserver};

/// Runs models.
pub trait Engine: Send + Sync {
    /// Its name: `tract`.
    fn name(&self) -> &str;

    /// Its version.
    fn version(&self) -> &str;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// The forms that an optimised plan can have. The first is the engine's own and the fastest; each later one holds back
    /// some of its rewrites, and the last holds back all of them.
    fn forms(&self) -> Vec<PlanForm>;

    /// Loads a graph.
    ///
    /// # Errors
    /// When the engine lacks an operator, or the graph makes no sense to it.
    fn load(&self, graph: Arc<Graph>, options: &LoadOptions) -> Result<Arc<dyn Model>, EngineError>;
}

/// How to load a model.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// How faithfully to follow the file.
    pub fidelity: Fidelity,
    /// Threads within an operator.
    pub threads: NonZeroUsize,
    /// The form of optimised plans; the engine's own if none.
    pub form: Option<PlanForm>,
    /// What an earlier look at the values has shown of the kernels of such a plan.
    pub known: KnownOutputs,
    /// What loading may take.
    pub budget: LoadBudget,
}

/// The values of the file that kernels were found to give, by the kernels' names.
pub type KnownOutputs = BTreeMap<String, Vec<KnownOutput>>;

/// An output of a kernel that was found to be a value of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownOutput {
    /// The output, by the engine's slot.
    pub slot: usize,
    /// The value's name.
    pub value: String,
    /// Whether its elements are in the file's order.
    pub same_order: bool,
}

/// Which of its rewrites an engine applies to an optimised plan, by a name of the engine's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PlanForm(Cow<'static, str>);

/// A graph that an engine has loaded.
pub trait Model: Send + Sync {
    /// The graph.
    fn graph(&self) -> &Arc<Graph>;

    /// How faithfully it is followed.
    fn fidelity(&self) -> Fidelity;

    /// Gets ready to run inputs of these types and shapes: dynamic dimensions are fixed from them before the engine
    /// optimises. Plans are kept, one per combination of shapes.
    ///
    /// The values matter only where the engine must know them beforehand (a small integer input that is a shape or an
    /// axis); such a plan runs only with those values.
    ///
    /// # Errors
    /// When inputs do not fit the graph, or the engine cannot run it.
    fn plan(&self, inputs: &[Tensor]) -> Result<Arc<dyn Plan>, EngineError>;
}

/// A model that is ready to run for inputs of given shapes.
pub trait Plan: Send + Sync {
    /// What is executed in every run, in order.
    fn kernels(&self) -> &Arc<[Kernel]>;

    /// When the engine began and ended to make it.
    fn made(&self) -> (Ticks, Ticks);

    /// What a user should know of how this plan runs the model, a sentence each: an input of another size than the file
    /// declares, operators that are computed in another type than the file's.
    fn notes(&self) -> &[String];

    /// The memory that tensors take during one run.
    fn memory(&self) -> RunMemory;

    /// Calls `visit` with every value of the file that the engine computed when it loaded the model, because no input's
    /// data is needed for it. Initializers are not among them. Empty unless the fidelity is exact.
    ///
    /// # Errors
    /// The first error of `visit`.
    fn constants(&self, visit: &mut dyn FnMut(ValueId, TensorView<'_>) -> std::io::Result<()>) -> std::io::Result<()>;

    /// Brings inputs to where the engine computes.
    ///
    /// # Errors
    /// When they do not fit the plan.
    fn upload(&self, inputs: &[Tensor]) -> Result<Box<dyn DeviceTensors>, EngineError>;

    /// Runs once, on the calling thread. May be called from several threads at once.
    ///
    /// # Errors
    /// When the engine fails (a panic inside of it is an error, too) or the observer stopped the run.
    fn run(
        &self,
        run: RunId,
        inputs: &dyn DeviceTensors,
        observer: &dyn RunObserver,
    ) -> Result<Box<dyn DeviceTensors>, EngineError>;
}

/// Tensors in the memory in which an engine computes.
pub trait DeviceTensors: Send + Sync {
    /// How many.
    fn len(&self) -> usize;

    /// One of them.
    fn view(&self, index: usize) -> TensorView<'_>;

    /// For the engine that made it.
    fn as_any(&self) -> &dyn Any;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl LoadOptions {
    /// Options with which the engine makes its own plans.
    pub fn new(fidelity: Fidelity, threads: NonZeroUsize) -> Self {
        Self { fidelity, threads, form: None, known: KnownOutputs::new(), budget: LoadBudget::default() }
    }
}

impl PlanForm {
    /// The form of this name.
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Self(name.into())
    }

    /// Its name: `every rewrite`, `no rewrites`.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fidelity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Fidelity::Optimised => "optimised",
            Fidelity::Exact => "exact",
        })
    }
}
