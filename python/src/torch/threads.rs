//! What the threads of a program are doing: the modules whose calls they are in, and the autograd nodes that they have
//! made; moments, and what began at them; whether a thread is inside the tap.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;
use std::thread::ThreadId;

use foldhash::HashMap;
use opscope::clock::Ticks;
use opscope::model::{Iteration, OpenOperator};
use opscope::onnx::SourceLine;
use opscope_torch::{ModulePath, Phase, Place};
use pyo3::prelude::*;

use super::autograd::is_made_by;

/// The threads of a program.
#[derive(Default)]
pub struct Threads {
    threads: HashMap<ThreadId, State>,
}

/// What a thread is doing.
#[derive(Default)]
pub struct State {
    /// The modules whose calls it is in, outermost first.
    pub stack: Vec<Call>,
    /// The optimizer whose step it is in, as a module of that name.
    pub optimizer: Option<Arc<ModulePath>>,
    /// The beginning of that step, if it is timed.
    pub optimizing: Option<Arc<Timed>>,
    /// Whether the mode was entered on this thread.
    pub has_mode: bool,
    /// The next number of an autograd node, when the last operator was executed.
    next_node: u64,
    relations: Relations,
}

/// The forward operators, by the numbers of their autograd nodes: those of the last nodes of a thread.
#[derive(Default)]
struct Relations {
    /// The number of the first one.
    first: u64,
    relations: VecDeque<Option<Relation>>,
}

/// The call of a module.
#[derive(Clone)]
pub struct Call {
    /// The module's address.
    pub module: usize,
    pub path: Arc<ModulePath>,
    pub class: Arc<str>,
    /// The number of the call in the step, from 0.
    pub number: u32,
    /// Whether it was begun by autograd, to compute a part of the forward pass again.
    pub is_recomputed: bool,
    /// Its beginning, if it is timed.
    pub timed: Option<Arc<Timed>>,
    /// Set if its inputs have hooks, by which its gradients are timed.
    pub hooked: Option<Arc<Hooked>>,
}

/// The forward operator that an autograd node belongs to.
#[derive(Clone)]
pub struct Relation {
    /// The operator's name, such as `aten.addmm.default`.
    pub operator: Arc<str>,
    pub module: Option<Arc<ModulePath>>,
    pub class: Arc<str>,
    pub call: u32,
    pub source: Option<Arc<SourceLine>>,
}

/// How many autograd nodes are remembered on each thread.
const MOST_NODES: usize = 1 << 20;

thread_local! {
    static THREAD: ThreadId = thread::current().id();
}

impl Threads {
    /// The current thread.
    pub fn current(&mut self) -> &mut State {
        self.threads.entry(THREAD.with(|thread| *thread)).or_default()
    }

    /// Returns the forward operator of an autograd node with this number. Each thread counts its nodes, so several may
    /// know the number. The current one is right if it can have made the node; otherwise, as autograd has threads of its
    /// own for devices, the only one that can have made it.
    pub fn relation(&self, number: u64, node: &Bound<'_, PyAny>) -> Option<Relation> {
        let current = self.threads.get(&THREAD.with(|thread| *thread)).and_then(|state| state.relations.get(number));
        let mut known = self.threads.values().filter_map(|state| state.relations.get(number));
        let (first, second) = (known.next()?, known.next());
        let Some(second) = second else { return Some(first.clone()) };
        let can_be = |relation: &&Relation| is_made_by(node, &relation.operator);
        let mut others = [first, second].into_iter().chain(known).filter(can_be);
        let other = others.next().filter(|_| others.next().is_none());
        current.filter(can_be).or(other).or(current).cloned()
    }
}

impl Call {
    /// Returns where it is, as the place of the module itself.
    pub fn place(&self, source: Option<Arc<SourceLine>>) -> Place {
        let phase = if self.is_recomputed { Phase::Recompute } else { Phase::Forward };
        let (path, class) = (Arc::clone(&self.path), Arc::clone(&self.class));
        Place { module: Some(path), call: self.number, phase, operator: None, class, source }
    }
}

impl State {
    /// Notes the number that the next autograd node gets. Returns the number of the node that was made since the last
    /// operator.
    pub fn made_node(&mut self, next: u64) -> Option<u64> {
        let is_new = next != self.next_node;
        self.next_node = next;
        next.checked_sub(1).filter(|_| is_new)
    }

    pub fn relate(&mut self, node: u64, relation: Relation) {
        self.relations.insert(node, relation);
    }

    /// Ends the call of a module, and the calls in it whose end was not reported.
    pub fn leave(&mut self, module: usize) -> Option<Call> {
        let place = self.stack.iter().rposition(|call| call.module == module)?;
        self.stack.truncate(place + 1);
        self.stack.pop()
    }
}

impl Relations {
    /// Enters the operator of a node. A thread numbers its nodes in ascending order, with gaps.
    fn insert(&mut self, node: u64, relation: Relation) {
        let place = node.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        let is_near = |place: &usize| *place < self.relations.len() + MOST_NODES;
        match place.filter(is_near) {
            Some(place) if !self.relations.is_empty() => {
                let length = self.relations.len().max(place + 1);
                self.relations.resize(length, None);
                self.relations[place] = Some(relation);
            }
            _ => {
                self.relations.clear();
                self.first = node;
                self.relations.push_back(Some(relation));
            }
        }
        let surplus = self.relations.len().saturating_sub(MOST_NODES);
        self.relations.drain(..surplus);
        self.first += surplus as u64;
    }

    fn get(&self, node: u64) -> Option<&Relation> {
        let place = usize::try_from(node.checked_sub(self.first)?).ok()?;
        self.relations.get(place)?.as_ref()
    }
}

/// A moment: on the processor, and in the order of the device's work.
#[derive(Clone)]
pub struct Mark {
    pub ticks: Ticks,
    pub event: Option<Arc<Py<PyAny>>>,
}

/// An operator or a module that is being executed.
pub struct Timed {
    pub operator: Arc<OpenOperator>,
    pub start: Mark,
}

/// The call of a module whose inputs and outputs have hooks.
pub struct Hooked {
    pub place: Place,
    /// The numbers of the calls around it, and its own.
    pub chain: Vec<u64>,
    /// How many of its inputs have a hook.
    pub inputs: usize,
}

impl Hooked {
    pub fn number(&self) -> u64 {
        self.chain.last().copied().unwrap_or(0)
    }

    pub fn is_in(&self, other: &Self) -> bool {
        self.chain.contains(&other.number())
    }
}

impl Mark {
    /// Returns whether the moment is on the device's clock as well.
    pub fn is_on_device_clock(&self) -> bool {
        self.event.is_some()
    }
}

impl Timed {
    pub fn new(operator: Arc<OpenOperator>, start: Mark) -> Self {
        Self { operator, start }
    }

    /// Returns when it began.
    pub fn start(&self) -> &Mark {
        &self.start
    }

    /// Returns its level in the path of what is executed within it.
    pub fn level(&self) -> Iteration {
        Iteration { operator: self.operator.operator().id, index: 0 }
    }
}

thread_local! {
    /// Whether this thread is inside the tap, which itself calls operators.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Marks the thread as inside the tap, until it is dropped.
pub struct Inside;

impl Inside {
    /// Returns `None` if the thread is inside already.
    pub fn enter() -> Option<Self> {
        // Not `then_some`: a mark that is made and dropped would end the one that the thread has.
        IS_INSIDE.with(|is_inside| !is_inside.replace(true)).then(|| Self)
    }

    /// Calls a function that is outside of the tap.
    pub fn leave<R>(&self, call: impl FnOnce() -> R) -> R {
        IS_INSIDE.with(|is_inside| is_inside.set(false));
        let result = call();
        IS_INSIDE.with(|is_inside| is_inside.set(true));
        result
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        IS_INSIDE.with(|is_inside| is_inside.set(false));
    }
}
