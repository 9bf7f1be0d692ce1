//! Limits for loading: time and memory that grow with the model.
//!
//! A file of a hundred bytes can make the engine's shape rules count to 2^64, or its optimiser try every order of a
//! thousand operators. No table of allowed inputs foresees all of that. So a separate thread loads the model and
//! records which node it has reached, while the calling thread watches the time and the memory of the process. If the
//! budget is spent, the caller gets an error that names the node. The loading thread stops at its next node; if it is
//! stuck inside one node, it is abandoned, and ends with the process.

pub(crate) mod guard;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use opscope_model::{EngineError, LoadBudget};
use opscope_onnx::{Dim, Graph, Producer, Value};
use opscope_sys::{Mutex, memory};
use opscope_tensor::Tensor;
use opscope_text::shown_size;
use tract_onnx::tract_core::internal::TractResult;

use crate::names;

/// The time that every model may take, however small it is.
const TIME: Duration = Duration::from_secs(60);
const MEMORY: u64 = 1 << 30;

/// The time that it may take in addition, per operator.
const TIME_OF_OPERATOR: Duration = Duration::from_millis(10);
const TIME_OF_MEBIBYTE: Duration = Duration::from_millis(50);
/// The memory per byte of weights. A weight is in the file's message, in the engine's tensor and in a packed one, and
/// each of these exists twice for a moment.
const MEMORY_OF_BYTE: u64 = 8;

/// How many operators a model may have.
const MOST_OPERATORS: usize = 50_000;

/// How often time and memory are checked. Between two checks a thread can allocate about 50 MiB.
const LOOK: Duration = Duration::from_millis(20);

/// How long a thread over its budget may take to reach its next node.
const GRACE: Duration = Duration::from_millis(200);

/// The size of the loading thread's stack, which is large enough for recursion over a graph.
const STACK: usize = 64 << 20;

/// The time and memory for one load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget {
    time: Duration,
    memory: u64,
    factor: u32,
}

/// A limit that loading has exceeded.
enum Exceeded {
    Time,
    Memory { taken: u64 },
}

/// What the loading thread and the watching thread share.
#[derive(Default)]
struct Progress {
    /// The engine's name of the node that the loading thread has reached.
    node: Mutex<Option<String>>,
    is_over: AtomicBool,
}

thread_local! {
    static PROGRESS: RefCell<Option<Arc<Progress>>> = const { RefCell::new(None) };
}

/// Records which node this thread has reached, for messages.
///
/// # Errors
/// Returns an error if the budget is spent.
pub(crate) fn at(node: Option<&str>) -> TractResult<()> {
    PROGRESS.with_borrow(|progress| {
        let Some(progress) = progress else { return Ok(()) };
        *progress.node.lock() = node.map(str::to_owned);
        if progress.is_over() { Err(Spent.into()) } else { Ok(()) }
    })
}

/// Checks whether this thread may continue to load.
///
/// # Errors
/// Returns an error if the budget is spent.
pub(crate) fn check() -> TractResult<()> {
    let is_over = PROGRESS.with_borrow(|progress| progress.as_ref().is_some_and(|progress| progress.is_over()));
    if is_over { Err(Spent.into()) } else { Ok(()) }
}

/// Returns the node that this thread reached last.
pub(crate) fn place() -> Option<String> {
    PROGRESS.with_borrow(|progress| progress.as_ref()?.place())
}

impl Progress {
    fn place(&self) -> Option<String> {
        self.node.lock().clone()
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

impl Budget {
    /// Returns the budget for loading this graph with inputs of this size.
    pub(crate) fn of(graph: &Graph, inputs: &[Tensor], budget: LoadBudget) -> Self {
        let operators = u32::try_from(graph.operators.len()).unwrap_or(u32::MAX);
        let bytes = bytes_of(graph) + inputs.iter().map(|input| input.bytes().len() as u64).sum::<u64>();
        let mebibytes = u32::try_from(bytes >> 20).unwrap_or(u32::MAX);
        let time = TIME + TIME_OF_OPERATOR.saturating_mul(operators) + TIME_OF_MEBIBYTE.saturating_mul(mebibytes);
        let memory = MEMORY.saturating_add(bytes.saturating_mul(MEMORY_OF_BYTE));
        let factor = budget.factor();
        let memory = memory.saturating_mul(u64::from(factor)).min(memory::limit());
        Self { time: time.saturating_mul(factor), memory, factor }
    }

    /// Refuses a model with so many operators that the engine, which compares each of them with all others, would take
    /// too long.
    pub(crate) fn check_operators(self, operators: usize) -> Result<(), EngineError> {
        let most = MOST_OPERATORS.saturating_mul(self.factor as usize);
        if operators <= most {
            return Ok(());
        }
        let needed = operators.div_ceil(MOST_OPERATORS);
        let reason = format!(
            "it has {operators} operators, and may have {most}, for the time grows with their square; a load budget of \
             {needed} allows them"
        );
        Err(EngineError::OverBudget { node: None, reason })
    }

    /// Returns the memory limit in bytes.
    pub(crate) fn memory(self) -> u64 {
        self.memory
    }

    /// Returns the factor by which the limits of every model are multiplied.
    pub(crate) fn factor(self) -> u32 {
        self.factor
    }

    /// Runs the work. Returns an error if it exceeds the budget.
    pub(crate) fn spend<T: Send + 'static>(
        self,
        graph: &Graph,
        work: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let progress = Arc::new(Progress::default());
        let (answer, answered) = mpsc::sync_channel(1);
        let (start, before) = (Instant::now(), memory::resident());
        let worker = {
            let progress = Arc::clone(&progress);
            move || {
                PROGRESS.set(Some(progress));
                // If the budget is spent, nothing receives the answer.
                let _ = answer.send(work());
            }
        };
        let failed = |reason: String| EngineError::Load { node: None, reason };
        let spawned = thread::Builder::new().name("opscope-load".to_owned()).stack_size(STACK).spawn(worker);
        let thread = spawned.map_err(|error| failed(format!("no thread can be started: {error}")))?;
        let outcome = match self.watch(&answered, start, before) {
            Ok(outcome) => outcome,
            Err(exceeded) => {
                let node = progress.place().map(|node| names::node_of_file(&node, graph));
                progress.is_over.store(true, Ordering::Relaxed);
                let _ = answered.recv_timeout(GRACE);
                return Err(EngineError::OverBudget { node, reason: self.reason(&exceeded) });
            }
        };
        let _ = thread.join();
        outcome.unwrap_or_else(|| Err(failed("the thread that loads it ended without an answer".to_owned())))
    }

    /// Waits for the answer; `None` if the thread ends without one.
    ///
    /// # Errors
    /// Returns which limit was exceeded.
    fn watch<T>(self, answered: &Receiver<T>, start: Instant, before: u64) -> Result<Option<T>, Exceeded> {
        loop {
            match answered.recv_timeout(LOOK) {
                Ok(answer) => return Ok(Some(answer)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if start.elapsed() > self.time {
                return Err(Exceeded::Time);
            }
            let taken = memory::resident().saturating_sub(before);
            if taken > self.memory {
                return Err(Exceeded::Memory { taken });
            }
        }
    }

    /// Returns the sentence about a limit that was exceeded.
    fn reason(self, exceeded: &Exceeded) -> String {
        let more = self.factor.saturating_mul(2);
        match exceeded {
            Exceeded::Time => {
                let seconds = self.time.as_secs();
                format!(
                    "it takes more than {seconds} seconds, which a model of this size should not; a load budget of {more} doubles that"
                )
            }
            Exceeded::Memory { taken } => {
                let (taken, memory) = (shown_size(*taken), shown_size(self.memory));
                format!("it has taken {taken} of memory, and may take {memory}; a load budget of {more} doubles that")
            }
        }
    }
}

/// Returns the size in bytes of a model's weights, including external data.
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

/// The error that ends work over its budget. It is never read, because the caller has already received another one.
#[derive(Debug)]
struct Spent;

impl std::fmt::Display for Spent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("loading takes too much")
    }
}

impl std::error::Error for Spent {}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use opscope_onnx::Graph;

    use super::*;

    /// Returns a graph with an operator that the engine calls `opscope:0`.
    fn graph() -> Graph {
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
        Graph::load(&models.join("digits_cnn.onnx")).unwrap()
    }

    fn over_budget(outcome: Result<(), EngineError>) -> (Option<String>, String) {
        match outcome {
            Err(EngineError::OverBudget { node, reason }) => (node, reason),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn work_that_goes_on_ends_at_its_next_node_and_is_told_with_the_nodes_name() {
        let graph = graph();
        let budget = Budget { time: Duration::ZERO, memory: u64::MAX, factor: 1 };
        let (ended, end) = mpsc::channel();
        let outcome = budget.spend(&graph, move || {
            while at(Some("opscope:0")).is_ok() {}
            ended.send(()).unwrap();
            Ok(())
        });
        let (node, reason) = over_budget(outcome);
        assert_eq!(node.as_ref(), Some(&graph.operators[0].name));
        assert!(reason.contains("load budget of 2"), "{reason}");
        end.recv().expect("the work went on");
    }

    #[test]
    fn work_that_is_caught_in_a_node_is_left_behind() {
        let (hold, held) = mpsc::channel::<()>();
        let budget = Budget { time: Duration::ZERO, memory: u64::MAX, factor: 3 };
        let outcome = budget.spend(&graph(), move || {
            at(Some("opscope:1")).unwrap();
            let _ = held.recv();
            Ok(())
        });
        let (_, reason) = over_budget(outcome);
        assert!(reason.contains("load budget of 6"), "{reason}");
        drop(hold);
    }

    #[test]
    fn work_that_takes_more_memory_than_it_may_is_ended() {
        let budget = Budget { time: Duration::MAX, memory: 1 << 26, factor: 1 };
        let outcome = budget.spend(&graph(), || {
            let mut taken = Vec::new();
            while at(None).is_ok() {
                taken.push(vec![1u8; 1 << 20]);
                assert!(taken.len() < 1 << 12, "no one stopped it");
            }
            Ok(())
        });
        let (_, reason) = over_budget(outcome);
        assert!(reason.contains("of memory"), "{reason}");
    }

    #[test]
    fn a_larger_model_may_take_more_and_a_factor_multiplies_it() {
        let small = graph();
        let mut large = small.clone();
        large.operators.extend(small.operators.iter().cloned());
        let of = |graph: &Graph, factor: &str| Budget::of(graph, &[], factor.parse().unwrap());
        assert!(of(&large, "1").time > of(&small, "1").time);
        assert_eq!(of(&small, "3").time, of(&small, "1").time * 3);
        assert_eq!(of(&small, "2").memory, of(&small, "1").memory * 2);
    }
}
