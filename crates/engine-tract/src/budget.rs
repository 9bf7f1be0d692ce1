//! What loading may take: time and memory that grow with the model.
//!
//! A file of a hundred bytes can make the engine's shape rules count to 2^64, or its optimiser try every order of a thousand
//! operators. No table of what is allowed foresees all of that. So loading is done on a thread of its own, which says which
//! node it is at, while the thread that asked for it watches the time and the memory of the process. Where these are spent,
//! the caller gets an error that names the node. The working thread stops at the next node; one that is caught in a single
//! node is left behind, and ends with the process.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use opscope_model::{EngineError, LoadBudget};
use opscope_onnx::{Dim, Graph, Producer, Value};
use opscope_tensor::Tensor;
use tract_onnx::tract_core::internal::TractResult;

use crate::{memory, names};

/// What every model may take, however small it is.
const TIME: Duration = Duration::from_secs(60);
const MEMORY: u64 = 1 << 30;

/// What a model may take besides.
const TIME_OF_OPERATOR: Duration = Duration::from_millis(10);
const TIME_OF_MEBIBYTE: Duration = Duration::from_millis(50);
/// A weight lies in the file's message, in the engine's tensor and in a packed one, each of them for a moment twice.
const MEMORY_OF_BYTE: u64 = 8;

/// How often time and memory are looked at. Between two looks a thread can take about 50 MiB.
const LOOK: Duration = Duration::from_millis(20);

/// How long a thread that is over its budget may take to its next node.
const GRACE: Duration = Duration::from_millis(200);

/// Large enough for what recurses over a graph.
const STACK: usize = 64 << 20;

/// The time and memory of one load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget {
    time: Duration,
    memory: u64,
    factor: u32,
}

/// What the thread that works and the one that watches tell each other.
#[derive(Default)]
struct Progress {
    /// The engine's name of the node that the work is at.
    node: Mutex<Option<String>>,
    is_over: AtomicBool,
}

thread_local! {
    static PROGRESS: RefCell<Option<Arc<Progress>>> = const { RefCell::new(None) };
}

/// Notes which node the work of this thread has come to, for messages.
///
/// # Errors
/// When the budget is spent.
pub(crate) fn at(node: Option<&str>) -> TractResult<()> {
    PROGRESS.with_borrow(|progress| {
        let Some(progress) = progress else { return Ok(()) };
        *progress.node.lock().unwrap_or_else(PoisonError::into_inner) = node.map(str::to_owned);
        if progress.is_over() { Err(Spent.into()) } else { Ok(()) }
    })
}

/// Looks whether the work of this thread may go on.
///
/// # Errors
/// When the budget is spent.
pub(crate) fn check() -> TractResult<()> {
    let is_over = PROGRESS.with_borrow(|progress| progress.as_ref().is_some_and(|progress| progress.is_over()));
    if is_over { Err(Spent.into()) } else { Ok(()) }
}

/// The node that the work of this thread came to last.
pub(crate) fn place() -> Option<String> {
    PROGRESS.with_borrow(|progress| progress.as_ref()?.place())
}

impl Progress {
    fn place(&self) -> Option<String> {
        self.node.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

impl Budget {
    /// What loading this graph may take, with inputs of this size.
    pub(crate) fn of(graph: &Graph, inputs: &[Tensor], budget: LoadBudget) -> Self {
        let operators = u32::try_from(graph.operators.len()).unwrap_or(u32::MAX);
        let bytes = bytes_of(graph) + inputs.iter().map(|input| input.bytes().len() as u64).sum::<u64>();
        let mebibytes = u32::try_from(bytes >> 20).unwrap_or(u32::MAX);
        let time = TIME + TIME_OF_OPERATOR.saturating_mul(operators) + TIME_OF_MEBIBYTE.saturating_mul(mebibytes);
        let memory = MEMORY.saturating_add(bytes.saturating_mul(MEMORY_OF_BYTE));
        let factor = budget.factor();
        let memory = memory.saturating_mul(u64::from(factor)).min(memory::of_machine());
        Self { time: time.saturating_mul(factor), memory, factor }
    }

    /// How many bytes may be taken.
    pub(crate) fn memory(self) -> u64 {
        self.memory
    }

    /// Does the work, and ends it with an error where it takes too much.
    pub(crate) fn spend<T: Send + 'static>(
        self,
        graph: &Graph,
        work: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let progress = Arc::new(Progress::default());
        let (answer, answered) = mpsc::sync_channel(1);
        let (start, before) = (Instant::now(), memory::of_this_process());
        let worker = {
            let progress = Arc::clone(&progress);
            move || {
                PROGRESS.set(Some(progress));
                // Where the budget is spent, no one waits any more.
                let _ = answer.send(work());
            }
        };
        let failed = |reason: String| EngineError::Load { node: None, reason };
        let spawned = thread::Builder::new().name("opscope-load".to_owned()).stack_size(STACK).spawn(worker);
        let thread = spawned.map_err(|error| failed(format!("no thread can be started: {error}")))?;
        let outcome = match self.watch(&answered, start, before) {
            Ok(outcome) => outcome,
            Err(reason) => {
                let node = progress.place().map(|node| names::restore(&node, graph));
                progress.is_over.store(true, Ordering::Relaxed);
                let _ = answered.recv_timeout(GRACE);
                return Err(EngineError::OverBudget { node, reason });
            }
        };
        let _ = thread.join();
        outcome.unwrap_or_else(|| Err(failed("the thread that loads it ended without an answer".to_owned())))
    }

    /// Waits for the answer: `None` where the thread ends without one.
    ///
    /// # Errors
    /// What was spent.
    fn watch<T>(self, answered: &Receiver<T>, start: Instant, before: u64) -> Result<Option<T>, String> {
        loop {
            match answered.recv_timeout(LOOK) {
                Ok(answer) => return Ok(Some(answer)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let more = self.factor.saturating_mul(2);
            if start.elapsed() > self.time {
                let seconds = self.time.as_secs();
                return Err(format!(
                    "it takes more than {seconds} seconds, which a model of this size should not; a load budget of {more} doubles that"
                ));
            }
            let taken = memory::of_this_process().saturating_sub(before);
            if taken > self.memory {
                let (taken, memory) = (memory::size(taken), memory::size(self.memory));
                return Err(format!(
                    "it has taken {taken} of memory, and may take {memory}; a load budget of {more} doubles that"
                ));
            }
        }
    }
}

/// The bytes of a model's weights, also of those that lie beside the file.
fn bytes_of(graph: &Graph) -> u64 {
    let bytes = |value: &Value| {
        let is_fixed = |dim: &Dim| match dim {
            Dim::Fixed(number) => Some(*number),
            Dim::Symbol(_) => None,
        };
        let dims = value.shape.as_ref()?.iter().map(is_fixed).collect::<Option<Vec<usize>>>()?;
        let elements = dims.iter().try_fold(1usize, |all, dim| all.checked_mul(*dim))?;
        value.dtype?.bytes_of(elements)
    };
    let weights = graph.values.iter().filter(|value| value.producer == Producer::Initializer).filter_map(bytes);
    weights.fold(0, usize::saturating_add).max(graph.source.bytes.len()) as u64
}

/// Why work that is over its budget ends. No one reads it: the one who waited has got an error already.
#[derive(Debug)]
struct Spent;

impl std::fmt::Display for Spent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("loading takes too much")
    }
}

impl std::error::Error for Spent {}
