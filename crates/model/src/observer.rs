use std::fmt;
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_onnx::{Graph, Operator, ValueId};
use opscope_tensor::{Tensor, TensorView};

use crate::{Capabilities, Fidelity, Kernel, KernelId, LiveMask};

/// The number of a run, from 0, counted by whoever starts runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub u64);

/// What an instrument is told of a run before it begins.
#[derive(Debug, Clone)]
pub struct RunInfo<'a> {
    /// The run.
    pub id: RunId,
    /// The graph that runs.
    pub graph: &'a Arc<Graph>,
    /// The kernels that will be executed, in order.
    pub kernels: &'a Arc<[Kernel]>,
    /// How faithfully they follow the file.
    pub fidelity: Fidelity,
}

/// Something that watches or changes runs: a profiler, a dumper, a debugger.
pub trait Instrument: Send + Sync {
    /// A short name for messages.
    fn name(&self) -> &str;

    /// What the engine must be able to do.
    fn requires(&self) -> Capabilities;

    /// Makes the observer of one run.
    fn observe<'a>(&'a self, run: &RunInfo<'a>) -> Box<dyn RunObserver + 'a>;
}

/// What an engine calls around every dispatch of one run.
///
/// An engine may call it from several threads, and [`timed`](Self::timed) later than the values and out of order.
pub trait RunObserver: Sync {
    /// What it wants to be called for. Asked once, before the run.
    fn interest(&self) -> Interest;

    /// A kernel is about to be executed.
    fn before(&self, _dispatch: &Dispatch<'_>, _inputs: &[TensorView<'_>]) -> Action {
        Action::Continue
    }

    /// A kernel was executed.
    fn after(&self, _dispatch: &Dispatch<'_>, _outputs: &[TensorView<'_>]) -> Action {
        Action::Continue
    }

    /// When a kernel was executed, on the engine's side of everything an observer did.
    fn timed(&self, _kernel: KernelId, _start: Ticks, _end: Ticks) {}

    /// The run is over: between these moments, or with an error.
    fn finished(&self, _outcome: Result<(Ticks, Ticks), &crate::EngineError>) {}
}

/// What an observer wants to be called for.
#[derive(Debug, Clone, Default)]
pub struct Interest {
    /// [`RunObserver::before`], with the inputs.
    pub before: KernelSet,
    /// [`RunObserver::after`], with the outputs.
    pub after: KernelSet,
    /// Kernels whose inputs are kept until `after`, where [`Dispatch::inputs`] are their views. Costs no copy, but the
    /// engine cannot compute in place then. Asked when [`before`](RunObserver::before) has returned, which may have
    /// switched it on.
    pub keep_inputs: KernelSet,
    /// [`RunObserver::timed`], for every kernel.
    pub times: bool,
}

/// Some of the kernels.
#[derive(Debug, Clone, Default)]
pub enum KernelSet {
    /// None.
    #[default]
    Empty,
    /// All.
    All,
    /// Those for which the mask, indexed by [`KernelId`], holds `true`.
    Mask(Arc<[bool]>),
    /// Those that the mask holds at the moment: asked at every dispatch, and may change while the run goes on.
    Live(Arc<LiveMask>),
    /// Those of either.
    Union(Arc<[KernelSet; 2]>),
}

/// One execution of a kernel.
#[derive(Debug, Clone, Copy)]
pub struct Dispatch<'a> {
    /// The run.
    pub run: RunId,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The graph.
    pub graph: &'a Graph,
    /// In [`after`](RunObserver::after): what the kernel was executed with, where [`Interest::keep_inputs`] asked for it,
    /// by the engine's slot. Otherwise empty; [`before`](RunObserver::before) gets them as its argument.
    pub inputs: &'a [TensorView<'a>],
    /// What the run holds besides.
    pub live: &'a dyn LiveValues,
}

/// The values of a run that its engine still holds.
///
/// Which these are is the engine's matter: it may let go of a value as soon as the last kernel that takes it has begun.
/// Initializers are not among them; the graph has those.
pub trait LiveValues {
    /// A value of the file that the engine holds at this moment.
    fn value(&self, id: ValueId) -> Option<TensorView<'_>>;
}

/// No live values: of callers that have none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLiveValues;

impl LiveValues for NoLiveValues {
    fn value(&self, _id: ValueId) -> Option<TensorView<'_>> {
        None
    }
}

impl fmt::Debug for dyn LiveValues + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("LiveValues")
    }
}

/// What an observer wants to happen next.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Action {
    /// Go on.
    #[default]
    Continue,
    /// End the run with this reason.
    Stop(String),
    /// Before: execute with these inputs.
    ReplaceInputs(Vec<Tensor>),
    /// Before: do not execute; these are the outputs.
    Skip(Vec<Tensor>),
    /// After: go on with these outputs.
    Replace(Vec<Tensor>),
}

/// The observer of a run that nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl RunObserver for NoObserver {
    fn interest(&self) -> Interest {
        Interest::default()
    }
}

impl KernelSet {
    /// Whether this kernel is one of them.
    #[inline]
    pub fn contains(&self, kernel: KernelId) -> bool {
        match self {
            KernelSet::Empty => false,
            KernelSet::All => true,
            KernelSet::Mask(mask) => mask.get(kernel.index()).copied().unwrap_or(false),
            KernelSet::Live(mask) => mask.contains(kernel),
            KernelSet::Union(both) => Self::union_contains(both, kernel),
        }
    }

    /// Apart, so that the rest is no recursion and can stand where it is asked.
    #[inline(never)]
    fn union_contains(both: &[KernelSet; 2], kernel: KernelId) -> bool {
        both.iter().any(|set| set.contains(kernel))
    }

    /// Whether there are none, and never will be.
    pub fn is_empty(&self) -> bool {
        matches!(self, KernelSet::Empty)
    }

    /// These and those.
    pub fn union(self, other: KernelSet) -> KernelSet {
        match (self, other) {
            (KernelSet::Empty, set) | (set, KernelSet::Empty) => set,
            (KernelSet::All, _) | (_, KernelSet::All) => KernelSet::All,
            (one, other) => KernelSet::Union(Arc::new([one, other])),
        }
    }
}

impl Interest {
    /// Whether nothing is wanted, so that the engine can run as if there were no observer.
    pub fn is_nothing(&self) -> bool {
        self.before.is_empty() && self.after.is_empty() && !self.times
    }

    /// What either wants.
    pub fn union(self, other: Interest) -> Interest {
        Interest {
            before: self.before.union(other.before),
            after: self.after.union(other.after),
            keep_inputs: self.keep_inputs.union(other.keep_inputs),
            times: self.times || other.times,
        }
    }
}

impl<'a> Dispatch<'a> {
    /// The operator that this dispatch counts for: its attributes, its type, its name.
    pub fn operator(&self) -> &'a Operator {
        self.graph.operator(self.kernel.operator())
    }
}
