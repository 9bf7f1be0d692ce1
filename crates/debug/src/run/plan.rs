use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use opscope_model::{Dispatch, EngineError, Kernel, KernelId, LoopIteration, RunId, TensorType};
use opscope_onnx::{Graph, OnnxError, OperatorId, ValueId};
use opscope_sys::{Mutex, MutexGuard};
use opscope_tensor::Tensor;

use super::destination::Destination;
use super::external_values::{ExternalValues, FlawedInitializers, flawed_initializers};
use super::location::{FusedOperator, KernelInfo, Span, spans};
use super::masks::Masks;
use crate::breakpoint::OperatorMapping;
use crate::event::{ModelId, Moment, RunPosition};

/// A plan as the debugger sees it: its kernels, and how the operators of the file map to them.
pub(crate) struct PlanInfo {
    pub model: ModelId,
    pub graph: Arc<Graph>,
    pub kernels: Arc<[Kernel]>,
    /// Whether the engine executes an operator even if it is skipped, and then replaces its outputs.
    pub executes_skipped: bool,
    /// The name and type of the operator that each kernel counts for; the engine's own for a kernel that it added.
    names: Vec<(Arc<str>, Arc<str>)>,
    /// The kernels of each operator.
    spans: Vec<Option<Span>>,
    /// Computed when a client first watches for NaN or infinity.
    external: OnceLock<ExternalValues>,
    /// Shared by all plans of the model.
    flawed: Arc<OnceLock<FlawedInitializers>>,
    /// The initializers that were read from the file; `None` for values that are not initializers.
    initializers: Mutex<BTreeMap<ValueId, Option<Arc<Tensor>>>>,
    /// The masks of earlier runs, all off, so that a run allocates none.
    spare: Mutex<Vec<Arc<Masks>>>,
}

/// How many masks are kept: as many as are likely to run at the same time.
const SPARE: usize = 64;

impl PlanInfo {
    pub fn new(
        model: ModelId,
        graph: &Arc<Graph>,
        kernels: &Arc<[Kernel]>,
        flawed: Arc<OnceLock<FlawedInitializers>>,
    ) -> Self {
        let names = kernels.iter().map(|kernel| match kernel.operator().map(|operator| graph.operator(operator)) {
            Some(operator) => (operator.name.as_str().into(), operator.op_type.as_str().into()),
            None => (kernel.name.as_str().into(), kernel.op.as_str().into()),
        });
        let (names, spans) = (names.collect(), spans(graph, kernels));
        let (graph, kernels) = (Arc::clone(graph), Arc::clone(kernels));
        Self {
            model,
            graph,
            kernels,
            executes_skipped: false,
            names,
            spans,
            external: OnceLock::new(),
            flawed,
            initializers: Mutex::default(),
            spare: Mutex::default(),
        }
    }

    /// Returns whether operators may be found that it does not have.
    pub fn is_open(&self) -> bool {
        self.graph.part.is_some()
    }

    /// Returns the kernels before which a run stops that goes on to a destination, as a mask.
    pub fn until(&self, destination: &Destination) -> Box<[bool]> {
        let mut kernels = vec![false; self.kernels.len()].into_boxed_slice();
        for operator in destination.operators(&self.graph) {
            if let Some(kernel) = self.kernel_for(operator.id, Moment::Before) {
                kernels[kernel.id.index()] = true;
            }
        }
        kernels
    }

    /// Returns whether a run that is before (or after) this kernel is also before (or after) the kernel's operator.
    pub fn is_bound(&self, kernel: KernelId, moment: Moment) -> bool {
        let operator = self.kernels[kernel.index()].operator();
        operator.and_then(|operator| self.kernel_for(operator, moment)).is_some_and(|bound| bound.id == kernel)
    }

    /// Returns the values that enter the runs of this plan from outside.
    pub fn external(&self) -> &ExternalValues {
        let begins = |operator| self.kernel_for(operator, Moment::Before).map(|kernel| kernel.id);
        let flawed = || self.flawed.get_or_init(|| flawed_initializers(&self.graph));
        self.external.get_or_init(|| ExternalValues::new(&self.graph, flawed(), &self.kernels, begins))
    }

    /// Returns masks for a run, all off.
    pub fn masks(&self) -> Arc<Masks> {
        let spare = self.spare().pop();
        spare.unwrap_or_else(|| Arc::new(Masks::new(self.kernels.len())))
    }

    /// Keeps the masks of a run that has ended, all off, unless an engine still uses them.
    pub fn return_masks(&self, masks: Arc<Masks>) {
        let mut spare = self.spare();
        if spare.len() < SPARE && masks.are_free() {
            spare.push(masks);
        }
    }

    fn spare(&self) -> MutexGuard<'_, Vec<Arc<Masks>>> {
        self.spare.lock()
    }

    pub fn position(&self, dispatch: &Dispatch<'_>, moment: Moment) -> RunPosition {
        let kernel = dispatch.kernel;
        let (name, op_type) = &self.names[kernel.id.index()];
        RunPosition {
            run: dispatch.run,
            model: self.model,
            operator: dispatch.operator().id.index() as u32,
            name: Arc::clone(name),
            op_type: Arc::clone(op_type),
            iterations: LoopIteration::on(dispatch.path, &self.graph),
            kernel: kernel.id.index() as u32,
            moment,
        }
    }

    /// Returns where a run failed, if the engine knows.
    pub fn position_of_failure(&self, run: RunId, error: &EngineError) -> Option<RunPosition> {
        let (EngineError::Run { node, .. } | EngineError::Index { node, .. } | EngineError::Panic { node, .. }) = error
        else {
            return None;
        };
        let operator = self.graph.operator_named(node.as_deref()?)?;
        let kernel = self.kernel_for(operator.id, Moment::Before)?.id.index();
        let (name, op_type) = (operator.name.as_str().into(), operator.op_type.as_str().into());
        let operator = operator.id.index() as u32;
        let (model, kernel) = (self.model, kernel as u32);
        // An error does not contain the iteration.
        let iterations = Vec::new();
        Some(RunPosition { run, model, operator, name, op_type, iterations, kernel, moment: Moment::Before })
    }

    /// Returns how an operator maps to kernels.
    pub fn mapping(&self, operator: OperatorId) -> OperatorMapping {
        let Some(kernel) = self.kernel_for(operator, Moment::Before) else { return OperatorMapping::Removed };
        let number = kernel.id.index() as u32;
        match kernel.operators.iter().position(|part| part.operator == operator) {
            Some(0) => OperatorMapping::Kernel { kernel: number },
            // An operator in a body that the engine does not show counts as part of the operator around it.
            part => OperatorMapping::Fused {
                kernel: number,
                into: self.graph.operator(kernel.operators[0].operator).name.clone(),
                exact: part.is_none_or(|part| kernel.operators[part].exact),
            },
        }
    }

    /// Returns the kernel at which a run is before (or after) an operator: the first (or last) of the kernels that
    /// count for it or, if there is none, of those that it is a part of. A kernel that only prepares weights does not
    /// count as the first.
    pub fn kernel_for(&self, operator: OperatorId, moment: Moment) -> Option<&Kernel> {
        let span = self.spans.get(operator.index())?.as_ref()?;
        let bound = match moment {
            Moment::Before => span.first,
            Moment::After => span.last,
        };
        Some(&self.kernels[bound.index()])
    }

    /// Returns how many kernels the engine executes for an operator that has several kernels of its own, which compute
    /// its outputs. Such an operator is shown as in the file. Returns `None` for any other operator.
    pub fn kernels_of(&self, operator: OperatorId) -> Option<u32> {
        let span = self.spans[operator.index()].as_ref()?;
        span.is_split.then_some(span.kernels)
    }

    /// Returns the type that a value has as an input or output of a kernel.
    pub fn type_of(&self, value: ValueId) -> Option<&TensorType> {
        self.kernels.iter().find_map(|kernel| {
            let output = kernel.outputs.iter().position(|values| values.contains(&value));
            let input = || kernel.inputs.iter().position(|input| input.value == Some(value));
            output.and_then(|slot| kernel.output_types.get(slot)).or_else(|| kernel.input_types.get(input()?))
        })
    }

    /// Returns whether a later kernel of the same operator also takes this value.
    pub fn is_taken_again(&self, kernel: &Kernel, value: ValueId) -> bool {
        let later = self.kernels[kernel.id.index()..].iter().skip(1);
        later
            .filter(|later| later.operator() == kernel.operator())
            .any(|later| later.inputs.iter().any(|input| input.value == Some(value)))
    }

    /// Reads an initializer from the file.
    pub fn initializer(&self, value: ValueId) -> Option<Arc<Tensor>> {
        let mut known = self.initializers.lock();
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

#[cfg(test)]
mod tests {
    use opscope_model::testing::{GraphBuilder, kernels};

    use super::*;

    #[test]
    fn masks_are_used_again_by_64_runs_and_by_none_while_an_engine_uses_them() {
        let graph = GraphBuilder::new("one").input("x", &[1]).operator("op", "Relu", &["x"], &["y"]).output("y");
        let graph = Arc::new(graph.build());
        let plan = PlanInfo::new(ModelId(0), &graph, &kernels(&graph, &[&["op"]]), Arc::default());
        let first = plan.masks();
        let place = Arc::as_ptr(&first);
        plan.return_masks(first);
        let again = plan.masks();
        assert_eq!(Arc::as_ptr(&again), place);
        for mask in [&again.before, &again.after, &again.keep].map(Arc::clone) {
            plan.return_masks(Arc::clone(&again));
            assert_eq!(plan.spare().len(), 0);
            drop(mask);
        }
        let many: Vec<_> = (0..70).map(|_| plan.masks()).collect();
        many.into_iter().for_each(|masks| plan.return_masks(masks));
        assert_eq!(plan.spare().len(), 64);
    }
}
