use std::fmt;
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_onnx::{Graph, Operator, ValueId};
use opscope_tensor::{Statistics, Tensor, TensorView};

use crate::{Capabilities, DeviceTensors, Fidelity, Iteration, Kernel, KernelId, KernelSet, TensorMemory, TensorType};

/// The number of a run. The caller that starts the runs counts them from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub u64);

/// Information about a run before it begins.
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

/// Information about a run of an open model before it begins. Its kernels are found while it runs: each
/// [`Dispatch`] has the part of the graph that its operator is in.
#[derive(Debug, Clone)]
pub struct OpenRunInfo<'a> {
    /// The run.
    pub id: RunId,
    /// The empty beginning of the graph, with the name and the source of the model.
    pub header: &'a Arc<Graph>,
}

/// Something that watches or changes runs: a profiler, a dumper, a debugger.
pub trait Instrument: Send + Sync {
    /// Returns a short name for messages.
    fn name(&self) -> &str;

    /// Returns the capabilities that it needs of the engine.
    fn requires(&self) -> Capabilities;

    /// Makes the observer of one run.
    fn observe<'a>(&'a self, run: &RunInfo<'a>) -> Box<dyn RunObserver + 'a>;

    /// Makes the observer of one run of an open model. Returns `None` if the instrument watches only models whose
    /// kernels are known before a run.
    fn observe_open(self: Arc<Self>, _run: &OpenRunInfo<'_>) -> Option<Arc<dyn RunObserver + Send + Sync>> {
        None
    }
}

/// A shared instrument.
impl<T: Instrument + ?Sized> Instrument for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn requires(&self) -> Capabilities {
        (**self).requires()
    }

    fn observe<'a>(&'a self, run: &RunInfo<'a>) -> Box<dyn RunObserver + 'a> {
        (**self).observe(run)
    }

    fn observe_open(self: Arc<Self>, run: &OpenRunInfo<'_>) -> Option<Arc<dyn RunObserver + Send + Sync>> {
        T::observe_open(Arc::clone(&self), run)
    }
}

/// The observer of one run. The engine calls it around every dispatch, and the caller of the engine calls it around the
/// copies of inputs and outputs. It is dropped when the run has ended.
///
/// An engine may call it from several threads. Calls to [`timed`](Self::timed) may come after those with the values,
/// and out of order.
pub trait RunObserver: Sync {
    /// Returns the calls that the observer requests. The engine asks once, before the run.
    fn interest(&self) -> Interest;

    /// Called before a kernel is executed, unless it stands for no operator of the file.
    fn before(&self, _dispatch: &Dispatch<'_>, _inputs: &[TensorView<'_>]) -> Action {
        Action::Continue
    }

    /// Called after a kernel was executed, unless it stands for no operator of the file.
    fn after(&self, _dispatch: &Dispatch<'_>, _outputs: &[TensorView<'_>]) -> Action {
        Action::Continue
    }

    /// Called for an operator of an open model before any other call about it, once for each instrument. Operators are
    /// shown in the order of their ids. It is shown again if it takes other values than before.
    fn found(&self, _dispatch: &Dispatch<'_>) {}

    /// Called after a kernel was executed, for an output that the engine or program cannot show, with the reason. The
    /// slot is the kernel's.
    fn not_shown(&self, _dispatch: &Dispatch<'_>, _slot: usize, _reason: &str) {}

    /// Called for an output of an open model whose elements stay on a device, which has computed their statistics. The
    /// hash among the statistics has no meaning. The call may come as late as the end of the run.
    fn summarised(&self, _dispatch: &Dispatch<'_>, _slot: usize, _tensor: &TensorType, _statistics: &Statistics) {}

    /// Called immediately before a kernel is executed, outside of the time that [`timed`](Self::timed) reports. It is
    /// not called for a kernel that an observer skips. It costs less than [`before`](Self::before), for which the
    /// engine shows the inputs. An engine that knows its kernels only after the run calls it then.
    fn started(&self, _kernel: KernelId, _path: &[Iteration]) {}

    /// Called with the times at which a kernel was executed. The engine takes them directly around the kernel, so they
    /// do not include the work of observers. A kernel that fails has times, too; one that panics has none. `path` is
    /// that of the dispatch: see [`Dispatch::path`].
    fn timed(&self, _kernel: KernelId, _path: &[Iteration], _start: Ticks, _end: Ticks) {}

    /// Called with the number of dispatches whose times the engine has lost, if the observer requested
    /// [`timed`](Self::timed).
    fn untimed(&self, _dispatches: u64) {}

    /// Called by an engine that takes times with a profile of its own. The engine works on that profile after a run.
    /// The start and end of that work are outside of the run's own time.
    fn profiled(&self, _start: Ticks, _end: Ticks) {}

    /// Called when the engine holds memory for another tensor that a kernel computed. The same address is not reported
    /// again before it is freed, so a kernel that computes in place allocates nothing.
    fn allocated(&self, _memory: TensorMemory, _at: Ticks) {}

    /// Called when the engine no longer needs this memory. Memory that was not freed when the engine finished belongs
    /// to the outputs, which the engine holds, like the inputs, until the end of the run.
    fn freed(&self, _memory: TensorMemory, _at: Ticks) {}

    /// Called when the engine has finished, with its start and end, or with the error that ended the run. That error
    /// may come from copying the inputs.
    fn finished(&self, _outcome: Result<(Ticks, Ticks), &crate::EngineError>) {}

    /// Called before the engine runs, with the start and end of the copy of the inputs into its memory.
    fn uploaded(&self, _inputs: &dyn DeviceTensors, _start: Ticks, _end: Ticks) {}

    /// Called after the engine has run, with the start and end of the copy of the outputs out of its memory.
    fn downloaded(&self, _outputs: &dyn DeviceTensors, _start: Ticks, _end: Ticks) {}
}

/// The calls that an observer requests.
#[derive(Debug, Clone, Default)]
pub struct Interest {
    /// [`RunObserver::before`], with the inputs.
    pub before: KernelSet,
    /// [`RunObserver::after`], with the outputs.
    pub after: KernelSet,
    /// The kernels whose inputs are kept until `after`, where [`Dispatch::inputs`] has views of them. This copies
    /// nothing, but keeps the engine from computing in place. The engine asks once [`before`](RunObserver::before) has
    /// returned, so `before` may still switch it on.
    pub keep_inputs: KernelSet,
    /// Whether `before` may answer [`Action::ReplaceInputs`]. Some engines must prepare for it before the run.
    pub replaces_inputs: bool,
    /// Whether `after` keeps outputs with [`LiveValues::keep`]. Some engines must prepare for it before the run.
    pub keeps: bool,
    /// [`RunObserver::timed`], for every kernel.
    pub times: bool,
    /// [`RunObserver::started`], for every kernel.
    pub starts: bool,
    /// [`RunObserver::allocated`] and [`RunObserver::freed`].
    pub memory: bool,
}

/// One execution of a kernel.
#[derive(Debug, Clone, Copy)]
pub struct Dispatch<'a> {
    /// The run.
    pub run: RunId,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The graph, or the part of an open model's graph that the kernel's operator is in.
    pub graph: &'a Arc<Graph>,
    /// The iterations of bodies that it is part of, outermost first. Empty for the operators of the main graph, and for
    /// engines that do not show the operators in bodies.
    pub path: &'a [Iteration],
    /// The inputs that the kernel was executed with, by the engine's slot. Filled only in
    /// [`after`](RunObserver::after), and only for kernels in [`Interest::keep_inputs`].
    /// [`before`](RunObserver::before) gets the inputs as an argument.
    pub inputs: &'a [TensorView<'a>],
    /// The other values that the run holds.
    pub live: &'a dyn LiveValues,
}

/// The values of a run that its engine still holds.
///
/// The engine decides which these are: it may drop a value as soon as the last kernel that takes it has begun.
/// Initializers are not among these values, because the graph has them.
pub trait LiveValues {
    /// Returns a value of the file, or `None` if the engine does not hold it at this moment.
    fn value(&self, id: ValueId) -> Option<TensorView<'_>>;

    /// Keeps a value that the kernel has just computed, for another thread. May be called only within
    /// [`RunObserver::after`], and if [`Interest::keeps`] is set. Returns `None` if the engine cannot keep this value,
    /// and then it has to be copied.
    fn keep(&self, _id: ValueId) -> Option<Box<dyn KeptTensor>> {
        None
    }
}

/// A tensor in the engine's memory that stays unchanged after the call that showed it. If it is not read soon, the
/// engine copies it and reuses the memory.
pub trait KeptTensor: Send {
    /// Calls `read` with all bytes, in the form of [`TensorView::bytes`]. The run may wait for the end of this call, so
    /// `read` must not wait for anything.
    fn read(&self, read: &mut dyn FnMut(&[u8]));
}

/// Live values for callers that have none.
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

/// The action that an observer requests next. Engines match all variants, so a new action cannot be ignored.
#[derive(Debug, Clone, Default)]
pub enum Action {
    /// Continue the run.
    #[default]
    Continue,
    /// End the run with this reason.
    Stop(String),
    /// Before: execute the kernel with these inputs.
    ReplaceInputs(Vec<Tensor>),
    /// Before: do not execute the kernel, and take these as its outputs.
    Skip(Vec<Tensor>),
    /// After: continue with these outputs.
    Replace(Vec<Tensor>),
}

/// An observer that requests no calls.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl RunObserver for NoObserver {
    fn interest(&self) -> Interest {
        Interest::default()
    }
}

impl Interest {
    /// Returns whether the observer requests no calls, so that the engine can run as if there were none.
    pub fn is_nothing(&self) -> bool {
        self.before.is_empty() && self.after.is_empty() && !self.times && !self.starts && !self.memory
    }

    /// Returns the union of both interests.
    pub fn union(self, other: Interest) -> Interest {
        Interest {
            before: self.before.union(other.before),
            after: self.after.union(other.after),
            keep_inputs: self.keep_inputs.union(other.keep_inputs),
            replaces_inputs: self.replaces_inputs || other.replaces_inputs,
            keeps: self.keeps || other.keeps,
            times: self.times || other.times,
            starts: self.starts || other.starts,
            memory: self.memory || other.memory,
        }
    }
}

impl<'a> Dispatch<'a> {
    /// Returns the operator that this dispatch counts for.
    ///
    /// # Panics
    /// If the kernel stands for no operator. Engines show no such dispatch.
    pub fn operator(&self) -> &'a Operator {
        let operator = self.kernel.operator().expect("engines show only kernels that stand for an operator");
        self.graph.operator(operator)
    }
}
