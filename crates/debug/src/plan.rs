use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use opscope_model::{EngineError, Kernel, KernelId, RunId, TensorType};
use opscope_onnx::{Graph, OnnxError, Operator, OperatorId, ValueId};
use opscope_tensor::Tensor;

use crate::entering::{Entering, Flawed, flawed_initializers};
use crate::run::Masks;
use crate::{Fate, FusedOperator, KernelInfo, ModelId, Moment, Place};

/// What the debugger knows of a plan of a model's: its kernels, and the names that events tell.
pub(crate) struct PlanInfo {
    pub model: ModelId,
    pub graph: Arc<Graph>,
    pub kernels: Arc<[Kernel]>,
    /// Name and type of the operator that each kernel counts for.
    names: Vec<(Arc<str>, Arc<str>)>,
    /// By operator.
    spans: Vec<Option<Span>>,
    /// Known when a debugger first watches for NaN or infinity.
    entering: OnceLock<Entering>,
    /// The same for all plans of the model.
    flawed: Arc<OnceLock<Flawed>>,
    /// Initializers that were looked at, from the file; none for those that it does not give.
    initializers: Mutex<BTreeMap<ValueId, Option<Arc<Tensor>>>>,
    /// Of runs that are gone, all off: a run costs no memory from the system.
    spare: Mutex<Vec<Arc<Masks>>>,
}

/// What is executed for an operator.
struct Span {
    first: KernelId,
    last: KernelId,
    /// How many kernels count for it.
    steps: u32,
    /// Whether several kernels are this operator's alone, and give its outputs.
    is_split: bool,
}

/// How many masks are kept for runs to come: as many as run at the same time.
const SPARE: usize = 64;

impl PlanInfo {
    pub fn new(model: ModelId, graph: &Arc<Graph>, kernels: &Arc<[Kernel]>, flawed: Arc<OnceLock<Flawed>>) -> Self {
        let names = kernels.iter().map(|kernel| {
            let operator = graph.operator(kernel.operator());
            (operator.name.as_str().into(), operator.op_type.as_str().into())
        });
        let (names, spans) = (names.collect(), spans(graph, kernels));
        let (graph, kernels) = (Arc::clone(graph), Arc::clone(kernels));
        Self {
            model,
            graph,
            kernels,
            names,
            spans,
            entering: OnceLock::new(),
            flawed,
            initializers: Mutex::default(),
            spare: Mutex::default(),
        }
    }

    /// Whether a run that is before or after this kernel is before or after the kernel's operator.
    pub fn is_bound(&self, kernel: KernelId, moment: Moment) -> bool {
        let operator = self.kernels[kernel.index()].operator();
        self.kernel_for(operator, moment).is_some_and(|bound| bound.id == kernel)
    }

    /// What enters the runs of this plan from outside.
    pub fn entering(&self) -> &Entering {
        let begins = |operator| self.kernel_for(operator, Moment::Before).map(|kernel| kernel.id);
        let flawed = || self.flawed.get_or_init(|| flawed_initializers(&self.graph));
        self.entering.get_or_init(|| Entering::new(&self.graph, flawed(), &self.kernels, begins))
    }

    /// Masks for a run, all off.
    pub fn masks(&self) -> Arc<Masks> {
        let spare = self.spare().pop();
        spare.unwrap_or_else(|| Arc::new(Masks::new(self.kernels.len())))
    }

    /// Takes the masks of a run that is gone, all off, unless an engine still has them.
    pub fn give_back(&self, masks: Arc<Masks>) {
        let mut spare = self.spare();
        if spare.len() < SPARE && masks.are_free() {
            spare.push(masks);
        }
    }

    fn spare(&self) -> MutexGuard<'_, Vec<Arc<Masks>>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn place(&self, run: RunId, kernel: &Kernel, moment: Moment) -> Place {
        let (name, op_type) = &self.names[kernel.id.index()];
        Place {
            run,
            operator: kernel.operator().index() as u32,
            name: Arc::clone(name),
            op_type: Arc::clone(op_type),
            kernel: kernel.id.index() as u32,
            moment,
        }
    }

    /// Where a run failed, as far as the engine knows.
    pub fn place_of_failure(&self, run: RunId, error: &EngineError) -> Option<Place> {
        let (EngineError::Run { node, .. } | EngineError::Panic { node, .. }) = error else { return None };
        let operator = self.graph.operator_named(node.as_deref()?)?;
        let kernel = self.kernel_for(operator.id, Moment::Before)?.id.index();
        let (name, op_type) = (operator.name.as_str().into(), operator.op_type.as_str().into());
        let operator = operator.id.index() as u32;
        Some(Place { run, operator, name, op_type, kernel: kernel as u32, moment: Moment::Before })
    }

    /// What the engine made of an operator.
    pub fn fate(&self, operator: OperatorId) -> Fate {
        let Some(kernel) = self.kernel_for(operator, Moment::Before) else { return Fate::Removed };
        let number = kernel.id.index() as u32;
        match kernel.operators.iter().position(|part| part.operator == operator) {
            None | Some(0) => Fate::Kernel { kernel: number },
            Some(part) => Fate::Fused {
                kernel: number,
                into: self.graph.operator(kernel.operator()).name.clone(),
                exact: kernel.operators[part].exact,
            },
        }
    }

    /// Where a run is right before or after an operator: at the first or last of the kernels that count for it, or where
    /// there are none, that it is a part of. Kernels that only bring weights into form come before the first.
    pub fn kernel_for(&self, operator: OperatorId, moment: Moment) -> Option<&Kernel> {
        let span = self.spans.get(operator.index())?.as_ref()?;
        let bound = match moment {
            Moment::Before => span.first,
            Moment::After => span.last,
        };
        Some(&self.kernels[bound.index()])
    }

    /// How many kernels count for an operator, where it is to be shown as it stands in the file: they are several, all of
    /// them are this operator's alone, and they give its outputs.
    pub fn steps(&self, operator: OperatorId) -> Option<u32> {
        let span = self.spans[operator.index()].as_ref()?;
        span.is_split.then_some(span.steps)
    }

    /// The type of a value where a kernel takes or gives it.
    pub fn type_of(&self, value: ValueId) -> Option<&TensorType> {
        self.kernels.iter().find_map(|kernel| {
            let output = kernel.outputs.iter().position(|values| values.contains(&value));
            let input = || kernel.inputs.iter().position(|input| input.value == Some(value));
            output.and_then(|slot| kernel.output_types.get(slot)).or_else(|| kernel.input_types.get(input()?))
        })
    }

    /// Whether a later kernel of the same operator takes this value, too.
    pub fn is_taken_again(&self, kernel: &Kernel, value: ValueId) -> bool {
        let later = self.kernels[kernel.id.index()..].iter().skip(1);
        later
            .filter(|later| later.operator() == kernel.operator())
            .any(|later| later.inputs.iter().any(|input| input.value == Some(value)))
    }

    /// An initializer as the file has it.
    pub fn initializer(&self, value: ValueId) -> Option<Arc<Tensor>> {
        let mut known = self.initializers.lock().unwrap_or_else(PoisonError::into_inner);
        let read = || {
            let mut found = None;
            let read = self.graph.initializers(
                |id| id == value,
                |_, tensor| {
                    found = Some(Arc::new(tensor.clone()));
                    Ok::<(), OnnxError>(())
                },
            );
            read.ok().and(found)
        };
        known.entry(value).or_insert_with(read).clone()
    }

    pub fn kernel_info(&self, kernel: &Kernel) -> KernelInfo {
        let operators = kernel.operators.iter().map(|part| {
            let operator = self.graph.operator(part.operator);
            FusedOperator {
                operator: part.operator.index() as u32,
                name: operator.name.clone(),
                op_type: operator.op_type.clone(),
                exact: part.exact,
            }
        });
        KernelInfo { name: kernel.name.clone(), op: kernel.op.clone(), operators: operators.collect() }
    }
}

fn spans(graph: &Graph, kernels: &[Kernel]) -> Vec<Option<Span>> {
    let mut spans: Vec<Option<Span>> = graph.operators.iter().map(|_| None).collect();
    let mut begins = vec![false; spans.len()];
    for kernel in kernels {
        let operator = kernel.operator();
        // As soon as it takes what is computed in the run.
        let is_first = !begins[operator.index()] && takes_inputs(graph.operator(operator), kernel);
        begins[operator.index()] |= is_first;
        match &mut spans[operator.index()] {
            Some(span) => {
                span.last = kernel.id;
                span.steps += 1;
                if is_first {
                    span.first = kernel.id;
                }
            }
            none => *none = Some(Span { first: kernel.id, last: kernel.id, steps: 1, is_split: false }),
        }
    }
    for (span, operator) in spans.iter_mut().zip(&graph.operators) {
        let Some(span) = span.as_mut().filter(|span| span.steps > 1) else { continue };
        let own = || kernels.iter().filter(|kernel| kernel.operator() == operator.id);
        let is_given = |value: &ValueId| own().any(|kernel| kernel.outputs.iter().any(|values| values.contains(value)));
        span.is_split =
            own().all(|kernel| kernel.operators.len() == 1) && operator.outputs.iter().flatten().all(is_given);
    }
    // Operators that no kernel counts for.
    let counted: Vec<bool> = spans.iter().map(Option::is_some).collect();
    for kernel in kernels {
        for part in kernel.operators.iter().filter(|part| !counted[part.operator.index()]) {
            spans[part.operator.index()]
                .get_or_insert(Span { first: kernel.id, last: kernel.id, steps: 0, is_split: false })
                .last = kernel.id;
        }
    }
    spans
}

/// Whether a kernel takes an input of its operator that is not the same in every run.
fn takes_inputs(operator: &Operator, kernel: &Kernel) -> bool {
    kernel.inputs.iter().any(|input| !input.constant && input.value.is_some() && operator.inputs.contains(&input.value))
}
