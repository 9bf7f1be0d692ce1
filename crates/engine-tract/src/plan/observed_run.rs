//! A run with an observer, which is called around every kernel.

use std::cell::{Cell, RefCell};

use opscope_clock::Ticks;
use opscope_model::{Action, Dispatch, Interest, Iteration, Kernel, RunId, RunObserver};
use opscope_tensor::{Tensor, TensorView};
use tract_onnx::prelude::{TValue, TVec, TypedFact};
use tract_onnx::tract_core::internal::{TractResult, TypedSimpleState, bail, tvec};
use tract_onnx::tract_core::plan::eval;

use super::TractPlan;
use super::kernels::NO_KERNEL;
use super::live_values::{Fed, TractValues};
use super::memory::HeldMemory;
use crate::tensors::{import_as, view};

/// The path of every dispatch: tract executes a body inside its operator, so no kernel is in a body.
const MAIN_GRAPH: &[Iteration] = &[];

/// A run and its observer.
pub(crate) struct ObservedRun<'a> {
    pub plan: &'a TractPlan,
    pub run: RunId,
    pub observer: &'a dyn RunObserver,
    pub interest: &'a Interest,
    /// The inputs of the model.
    pub inputs: &'a TVec<TValue>,
    /// The node that is being executed.
    pub last: &'a Cell<usize>,
    /// The memory that the run holds, if the observer wants reports of it.
    pub memory: Option<&'a RefCell<HeldMemory<'a>>>,
}

/// How a run continues at a node after `before` was called.
enum NodeExecution {
    /// The node is executed with these inputs. `replaced` says whether the observer replaced them.
    Execute { inputs: TVec<TValue>, replaced: bool },
    /// The node is skipped. These are its inputs, and the outputs from the observer.
    Skip { inputs: TVec<TValue>, outputs: TVec<TValue> },
}

/// Ends tract's own execution of a plan, so that it continues node by node. Not a failure.
#[derive(Debug)]
struct LeftTract;

impl std::fmt::Display for LeftTract {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the run continues node by node")
    }
}

impl std::error::Error for LeftTract {}

/// The inputs of a node, if its observer wants to see them in `after`.
struct KeptInputs {
    inputs: TVec<TValue>,
    /// Whether the observer replaced them.
    replaced: bool,
}

/// The values that a plan holds, by node.
type HeldValues = [Option<TVec<TValue>>];

impl ObservedRun<'_> {
    pub fn execute(&self, state: &mut TypedSimpleState) -> TractResult<TVec<TValue>> {
        let only_times = self.interest.before.is_empty() && self.interest.after.is_empty();
        if only_times {
            self.take_times(state)
        } else if self.plan.shapes_are_known() {
            self.until_looked_at(state)
        } else {
            self.within(state)
        }
    }

    fn take_times(&self, state: &mut TypedSimpleState) -> TractResult<TVec<TValue>> {
        state.run_plan_with_eval(self.inputs.clone(), |context, op_state, node, inputs| {
            let id = self.plan.kernel_of(node.id);
            self.last.set(node.id);
            if id != NO_KERNEL && self.interest.starts {
                self.observer.started(id, MAIN_GRAPH);
            }
            let is_timed = id != NO_KERNEL && self.interest.times;
            let outputs = if is_timed {
                let start = Ticks::now();
                let outputs = eval(context, op_state, node, inputs);
                self.observer.timed(id, MAIN_GRAPH, start, Ticks::now());
                outputs
            } else {
                eval(context, op_state, node, inputs)
            };
            self.report(node.id, &outputs);
            outputs
        })
    }

    /// Reports the memory of a node's outputs. Takes references, so that outputs are not moved.
    #[inline]
    fn report(&self, node: usize, outputs: &TractResult<TVec<TValue>>) {
        if let (Some(_), Ok(outputs)) = (self.memory, outputs) {
            self.report_memory(node, outputs);
        }
    }

    fn report_memory(&self, node: usize, outputs: &[TValue]) {
        if let Some(memory) = self.memory {
            memory.borrow_mut().computed(node, outputs);
        }
    }

    /// Lets tract run the plan until the observer wants to see a kernel. From there on, executes it node by node, so
    /// that the values that the plan holds can be seen between two nodes. Both compute the same if all shapes are
    /// known.
    fn until_looked_at(&self, state: &mut TypedSimpleState) -> TractResult<TVec<TValue>> {
        let taken = Cell::new(None);
        let outcome = state.run_plan_with_eval(self.inputs.clone(), |context, op_state, node, inputs| {
            self.last.set(node.id);
            let Some(kernel) = self.plan.kernel_at(node.id) else {
                let outputs = eval(context, op_state, node, inputs);
                self.report(node.id, &outputs);
                return outputs;
            };
            if self.interest.before.contains(kernel.id) || self.interest.after.contains(kernel.id) {
                taken.set(Some(inputs));
                return Err(LeftTract.into());
            }
            let outputs = self.timed(kernel, || eval(context, op_state, node, inputs));
            self.report(node.id, &outputs);
            outputs
        });
        let Some(inputs) = taken.into_inner() else { return outcome };
        self.plan.with_threads(|| self.step_through(state, inputs))?;
        let outputs = state.outputs()?;
        state.reset_turn()?;
        Ok(outputs)
    }

    /// Executes the rest of the plan node by node, from the node at which tract's execution ended. `inputs` are that
    /// node's inputs.
    fn step_through(&self, state: &mut TypedSimpleState, inputs: TVec<TValue>) -> TractResult<()> {
        let steps = self.plan.order().iter().zip(self.plan.flushed());
        let mut rest = steps.skip_while(|(node, _)| **node != self.last.get());
        if let Some((&node, _)) = rest.next()
            && let Some(kernel) = self.plan.kernel_at(node)
        {
            // tract has already dropped the values that no later node takes.
            self.watched_step(state, kernel, node, &[], inputs)?;
        }
        for (&node, flushed) in rest {
            self.last.set(node);
            let inputs = state.prepare_inputs(node)?;
            if let Some(kernel) = self.plan.kernel_at(node) {
                self.watched_step(state, kernel, node, flushed, inputs)?;
            } else {
                forget(state, flushed);
                state.compute_one_with_inputs(node, inputs)?;
                self.report_memory(node, state.turn_state.values[node].as_deref().unwrap_or_default());
            }
        }
        Ok(())
    }

    fn watched_step(
        &self,
        state: &mut TypedSimpleState,
        kernel: &Kernel,
        node: usize,
        flushed: &[usize],
        inputs: TVec<TValue>,
    ) -> TractResult<()> {
        let execution = self.before(kernel, node, inputs, &state.turn_state.values)?;
        forget(state, flushed);
        let kept = self.keep(kernel, &execution);
        match execution {
            NodeExecution::Skip { outputs, .. } => state.set_values(node, outputs)?,
            NodeExecution::Execute { inputs, .. } => {
                self.timed(kernel, || state.compute_one_with_inputs(node, inputs))?;
            }
        }
        if self.interest.after.contains(kernel.id) {
            let held = &state.turn_state.values;
            let outputs = held[node].as_deref().unwrap_or_default();
            if let Some(outputs) = self.after(kernel, node, &kept, outputs, held)? {
                state.set_values(node, outputs)?;
            }
        }
        self.report_memory(node, state.turn_state.values[node].as_deref().unwrap_or_default());
        Ok(())
    }

    /// Lets tract run the whole plan, because tract finds out shapes during the run. It then hides the values that it
    /// holds.
    fn within(&self, state: &mut TypedSimpleState) -> TractResult<TVec<TValue>> {
        state.run_plan_with_eval(self.inputs.clone(), |context, op_state, node, inputs| -> TractResult<TVec<TValue>> {
            self.last.set(node.id);
            let Some(kernel) = self.plan.kernel_at(node.id) else {
                let outputs = eval(context, op_state, node, inputs);
                self.report(node.id, &outputs);
                return outputs;
            };
            let execution = self.before(kernel, node.id, inputs, &[])?;
            let kept = self.keep(kernel, &execution);
            let outputs = match execution {
                NodeExecution::Skip { outputs, .. } => outputs,
                NodeExecution::Execute { inputs, .. } => {
                    self.timed(kernel, || eval(context, op_state, node, inputs))?
                }
            };
            if !self.interest.after.contains(kernel.id) {
                self.report_memory(node.id, &outputs);
                return Ok(outputs);
            }
            let replaced = self.after(kernel, node.id, &kept, &outputs, &[])?;
            let outputs = replaced.unwrap_or(outputs);
            self.report_memory(node.id, &outputs);
            Ok(outputs)
        })
    }

    fn timed<T>(&self, kernel: &Kernel, compute: impl FnOnce() -> TractResult<T>) -> TractResult<T> {
        if self.interest.starts {
            self.observer.started(kernel.id, MAIN_GRAPH);
        }
        if !self.interest.times {
            return compute();
        }
        let start = Ticks::now();
        let outcome = compute();
        self.observer.timed(kernel.id, MAIN_GRAPH, start, Ticks::now());
        outcome
    }

    fn before(
        &self,
        kernel: &Kernel,
        node: usize,
        inputs: TVec<TValue>,
        held: &HeldValues,
    ) -> TractResult<NodeExecution> {
        if !self.interest.before.contains(kernel.id) {
            return Ok(NodeExecution::Execute { inputs, replaced: false });
        }
        let action = {
            let views: Vec<TensorView<'_>> = inputs.iter().map(|input| view(input)).collect();
            let live = self.live(node, &inputs, held);
            self.observer.before(&self.dispatch(kernel, &[], &live), &views)
        };
        match action {
            Action::Stop(reason) => Err(Stopped(reason).into()),
            Action::ReplaceInputs(tensors) => {
                let model = self.plan.model();
                let facts = self.plan.sources(node).iter().map(|outlet| model.outlet_fact(*outlet));
                let inputs = replacements(&tensors, &facts.collect::<TractResult<TVec<_>>>()?, "input")?;
                Ok(NodeExecution::Execute { inputs, replaced: true })
            }
            Action::Skip(tensors) => Ok(NodeExecution::Skip { inputs, outputs: self.outputs_of(node, &tensors)? }),
            Action::Continue | Action::Replace(_) => Ok(NodeExecution::Execute { inputs, replaced: false }),
        }
    }

    /// Returns the inputs that `after` receives. While they are kept, the node cannot compute in place.
    fn keep(&self, kernel: &Kernel, execution: &NodeExecution) -> KeptInputs {
        let (inputs, replaced) = match execution {
            NodeExecution::Execute { inputs, replaced } => (inputs, *replaced),
            NodeExecution::Skip { inputs, .. } => (inputs, false),
        };
        let wanted = self.interest.keep_inputs.contains(kernel.id);
        KeptInputs { inputs: if wanted { inputs.clone() } else { tvec!() }, replaced }
    }

    /// Returns the outputs that replace a node's own, or `None` if its observer replaces none.
    fn after(
        &self,
        kernel: &Kernel,
        node: usize,
        kept: &KeptInputs,
        outputs: &[TValue],
        held: &HeldValues,
    ) -> TractResult<Option<TVec<TValue>>> {
        let action = {
            let inputs: Vec<TensorView<'_>> = kept.inputs.iter().map(|input| view(input)).collect();
            let views: Vec<TensorView<'_>> = outputs.iter().map(|output| view(output)).collect();
            let live = self.live(node, if kept.replaced { &[] } else { &kept.inputs }, held);
            self.observer.after(&self.dispatch(kernel, &inputs, &live), &views)
        };
        match action {
            Action::Stop(reason) => Err(Stopped(reason).into()),
            Action::Replace(tensors) => Ok(Some(self.outputs_of(node, &tensors)?)),
            Action::Continue | Action::ReplaceInputs(_) | Action::Skip(_) => Ok(None),
        }
    }

    fn dispatch<'d>(
        &'d self,
        kernel: &'d Kernel,
        inputs: &'d [TensorView<'d>],
        live: &'d TractValues<'d>,
    ) -> Dispatch<'d> {
        Dispatch { run: self.run, kernel, graph: self.plan.graph(), path: MAIN_GRAPH, inputs, live }
    }

    fn live<'d>(&'d self, node: usize, inputs: &'d [TValue], held: &'d HeldValues) -> TractValues<'d> {
        TractValues {
            model: self.plan.model(),
            outlets: self.plan.outlets(),
            held,
            inputs: Fed { outlets: self.plan.sources(node), tensors: inputs },
            given: Fed { outlets: &self.plan.model().inputs, tensors: self.inputs },
        }
    }

    fn outputs_of(&self, node: usize, tensors: &[Tensor]) -> TractResult<TVec<TValue>> {
        let facts: TVec<&TypedFact> = self.plan.model().node(node).outputs.iter().map(|output| &output.fact).collect();
        replacements(tensors, &facts, "output")
    }
}

/// Drops the values of these nodes.
fn forget(state: &mut TypedSimpleState, flushed: &[usize]) {
    for &node in flushed {
        state.turn_state.values[node] = None;
    }
}

/// Returns tract's copies of an observer's tensors. They must have the types and shapes that the plan was made for.
fn replacements(tensors: &[Tensor], facts: &[&TypedFact], side: &str) -> TractResult<TVec<TValue>> {
    if tensors.len() != facts.len() {
        bail!("{} tensors were given for {} {side}s", tensors.len(), facts.len());
    }
    let mut imported = tvec!();
    for (slot, (tensor, fact)) in tensors.iter().zip(facts).enumerate() {
        if let Some(shape) = fact.shape.as_concrete()
            && shape != tensor.shape()
        {
            bail!("{side} {slot} has shape {shape:?}, {:?} was given", tensor.shape());
        }
        imported.push(import_as(tensor, fact, &format!("{side} {slot}"))?);
    }
    Ok(imported)
}

/// An observer's reason to stop the run, as an error that passes through tract.
#[derive(Debug)]
pub(crate) struct Stopped(pub String);

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "stopped: {}", self.0)
    }
}

impl std::error::Error for Stopped {}
