use std::ffi::c_char;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opscope_sys::Mutex;

use super::{Announcement, Texts};
use crate::consumers::ConsumerSet;
use crate::layout::{OPSCOPE_FIDELITY_EXACT, OPSCOPE_FIDELITY_OPTIMISED, OPSCOPE_NO_OPERATOR};
use crate::{consumers, layout};

/// A producer's description of a model.
#[derive(Debug, Clone, Copy)]
pub struct ModelFacts<'a> {
    /// The name of its graph.
    pub name: &'a str,
    /// Its file.
    pub path: &'a Path,
    /// The engine.
    pub engine: &'a str,
    /// The engine's version.
    pub engine_version: &'a str,
    /// How faithfully the engine follows the file.
    pub fidelity: Fidelity,
}

/// How faithfully an engine follows a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fidelity {
    /// It may fuse and rewrite operators.
    Optimised,
    /// It executes every operator as the file has it.
    Exact,
}

/// A producer's description of an operator.
#[derive(Debug, Clone, Copy)]
pub struct OperatorFacts<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type.
    pub op_type: &'a str,
    /// The domain of its operator set.
    pub domain: &'a str,
}

/// A producer's description of a kernel.
#[derive(Debug, Clone)]
pub struct KernelFacts<'a> {
    /// The name of the operator that its time counts for. For a kernel that stands for no operator, the engine's own
    /// name.
    pub operator_name: &'a str,
    /// The type of that operator. For a kernel that stands for no operator, the engine's name for what it does.
    pub operator_type: &'a str,
    /// The engine's own name for it.
    pub name: &'a str,
    /// The engine's name for what it does.
    pub op: &'a str,
    /// The operators that it stands for: the index of each, and whether the engine states the relation, as opposed to
    /// an inference from the graph. The kernel's time counts for the first one. Empty for a kernel that the engine
    /// added on its own.
    pub operators: Vec<(u64, bool)>,
    /// The element type of the first output, such as `float32`; empty for one of the engine's own types.
    pub output_dtype: &'a str,
    /// The shape of the first output.
    pub output_shape: Vec<u64>,
}

/// A loaded model, as its consumers see it. It is announced as unloaded once the model and its last plan are dropped.
pub struct LoadedModel {
    description: layout::Model,
    announced: Announcement,
    /// The plans' descriptions live as long as the model, because consumers rely on that.
    plans: Mutex<Vec<Arc<Plan>>>,
    _operators: Box<[layout::Operator]>,
    _addresses: Box<[*const layout::Operator]>,
    _texts: Texts,
}

/// A plan of a model, as the model's consumers see it.
#[derive(Clone)]
pub struct LoadedPlan {
    pub(super) plan: Arc<Plan>,
    pub(super) model: Arc<LoadedModel>,
}

pub(super) struct Plan {
    pub description: layout::Plan,
    announced: Announcement,
    kernels: Box<[layout::Kernel]>,
    _addresses: Box<[*const layout::Kernel]>,
    _operators: Vec<Box<[layout::Attribution]>>,
    _shapes: Vec<Box<[u64]>>,
    _texts: Texts,
}

// SAFETY: its pointers lead to memory that it owns and that never changes after its creation.
unsafe impl Send for LoadedModel {}
// SAFETY: as above.
unsafe impl Sync for LoadedModel {}
// SAFETY: its pointers lead to memory that it owns and that never changes after its creation.
unsafe impl Send for Plan {}
// SAFETY: as above.
unsafe impl Sync for Plan {}

static NEXT_MODEL: AtomicU64 = AtomicU64::new(1);
static NEXT_PLAN: AtomicU64 = AtomicU64::new(1);

impl LoadedModel {
    /// Describes a model. It is announced by [`announce`](Self::announce), or else by its first run.
    pub fn new<'a>(facts: &ModelFacts<'_>, operators: impl IntoIterator<Item = OperatorFacts<'a>>) -> Arc<Self> {
        let mut texts = Texts::default();
        let operator = |(index, operator): (usize, OperatorFacts<'_>)| layout::Operator {
            size: size_of::<layout::Operator>(),
            id: index as u64,
            name: texts.keep(operator.name),
            r#type: texts.keep(operator.op_type),
            domain: texts.keep(operator.domain),
        };
        let operators: Box<[_]> = operators.into_iter().enumerate().map(operator).collect();
        let addresses: Box<[_]> = operators.iter().map(|operator| &raw const *operator).collect();
        let description = layout::Model {
            size: size_of::<layout::Model>(),
            id: NEXT_MODEL.fetch_add(1, Ordering::Relaxed),
            name: texts.keep(facts.name),
            path: texts.keep(&facts.path.to_string_lossy()),
            engine: texts.keep(facts.engine),
            engine_version: texts.keep(facts.engine_version),
            fidelity: match facts.fidelity {
                Fidelity::Optimised => OPSCOPE_FIDELITY_OPTIMISED,
                Fidelity::Exact => OPSCOPE_FIDELITY_EXACT,
            },
            operators: addresses.as_ptr(),
            operator_count: addresses.len(),
        };
        Arc::new(Self {
            description,
            announced: Announcement::default(),
            plans: Mutex::default(),
            _operators: operators,
            _addresses: addresses,
            _texts: texts,
        })
    }

    /// Announces the model to the consumers that do not know about it yet.
    pub fn announce(&self) {
        self.announce_to(consumers::wanting(|entries| entries.model_loaded.is_some()));
    }

    /// Announces the model to these consumers. Returns whether all of them know about it now.
    pub(super) fn announce_to(&self, wanting: ConsumerSet) -> bool {
        self.announced.to(wanting, |consumer| {
            let entries = consumer.entries();
            entries.call(entries.model_loaded, &self.description);
        })
    }

    /// Describes a plan of the model, with its kernels in order of execution. The plan's first run announces it.
    pub fn plan<'a>(self: &Arc<Self>, kernels: impl IntoIterator<Item = KernelFacts<'a>>) -> LoadedPlan {
        let plan = Arc::new(Plan::new(self.description.id, kernels));
        self.plans.lock().push(Arc::clone(&plan));
        LoadedPlan { plan, model: Arc::clone(self) }
    }
}

impl Drop for LoadedModel {
    fn drop(&mut self) {
        for consumer in self.announced.known_to() {
            let entries = consumer.entries();
            entries.call(entries.model_unloaded, &self.description);
        }
    }
}

impl Plan {
    fn new<'a>(model: u64, kernels: impl IntoIterator<Item = KernelFacts<'a>>) -> Self {
        let (mut texts, mut all_operators, mut shapes) = (Texts::default(), Vec::new(), Vec::new());
        let kernel = |(index, kernel): (usize, KernelFacts<'_>)| {
            let exact = |&(operator_id, exact): &(u64, bool)| layout::Attribution { operator_id, exact: exact.into() };
            let operators: Box<[_]> = kernel.operators.iter().map(exact).collect();
            let shape = kernel.output_shape.into_boxed_slice();
            let mut keep = |text: &str| -> *const c_char { texts.keep(text) };
            let description = layout::Kernel {
                size: size_of::<layout::Kernel>(),
                index: index as u64,
                operator_id: operators.first().map_or(OPSCOPE_NO_OPERATOR, |first| first.operator_id),
                name: keep(kernel.operator_name),
                r#type: keep(kernel.operator_type),
                kernel: keep(kernel.name),
                op: keep(kernel.op),
                operators: operators.as_ptr(),
                operator_count: operators.len(),
                output_dtype: keep(kernel.output_dtype),
                output_shape: shape.as_ptr(),
                output_rank: shape.len(),
            };
            all_operators.push(operators);
            shapes.push(shape);
            description
        };
        let kernels: Box<[_]> = kernels.into_iter().enumerate().map(kernel).collect();
        let addresses: Box<[_]> = kernels.iter().map(|kernel| &raw const *kernel).collect();
        let description = layout::Plan {
            size: size_of::<layout::Plan>(),
            id: NEXT_PLAN.fetch_add(1, Ordering::Relaxed),
            model,
            kernels: addresses.as_ptr(),
            kernel_count: addresses.len(),
        };
        Self {
            description,
            announced: Announcement::default(),
            kernels,
            _addresses: addresses,
            _operators: all_operators,
            _shapes: shapes,
            _texts: texts,
        }
    }

    pub fn announce_to(&self, wanting: ConsumerSet) {
        self.announced.to(wanting, |consumer| {
            let entries = consumer.entries();
            entries.call(entries.plan_made, &self.description);
        });
    }

    /// Returns the kernel with this index. `None` if there is none, which means that the caller confused two plans.
    pub fn kernel(&self, index: usize) -> Option<&layout::Kernel> {
        self.kernels.get(index)
    }
}
