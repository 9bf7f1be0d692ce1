use std::io;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use opscope_clock::Ticks;
use opscope_model::{
    Action, Dispatch, EngineError, Fidelity, Interest, Kernel, KernelId, NoObserver, Plan, Resident, RunId, RunObserver,
};
use opscope_onnx::{Graph, ValueId};
use opscope_tensor::{DType, Tensor, TensorView};
use tract_linalg::multithread::Executor;
use tract_onnx::prelude::{TValue, TVec};
use tract_onnx::tract_core::internal::{RunOptions, TractError, TractResult, TypedSimplePlan, TypedSimpleState};
use tract_onnx::tract_core::ops::konst::Const;
use tract_onnx::tract_core::plan::eval;

use crate::guard;
use crate::kernels::{NO_KERNEL, kernels};
use crate::prepare::{Baked, Prepared};
use crate::tensors::{TractTensors, import_all, view};

/// A plan of tract's, with the states that runs take turns to use.
pub(crate) struct TractPlan {
    graph: Arc<Graph>,
    plan: Arc<TypedSimplePlan>,
    kernels: Arc<[Kernel]>,
    /// The kernel of each node of tract's, or [`NO_KERNEL`].
    kernel_of: Vec<KernelId>,
    constants: Vec<(ValueId, usize)>,
    outputs: usize,
    inputs: Vec<ExpectedInput>,
    /// A state keeps what operators allocate for themselves. A run takes one, so that concurrent runs never wait.
    states: Mutex<Vec<TypedSimpleState>>,
}

/// An input that the plan was made for.
struct ExpectedInput {
    dtype: DType,
    shape: Vec<usize>,
    /// The value, where it is a part of the plan.
    baked: Option<Tensor>,
}

impl TractPlan {
    pub(crate) fn new(
        graph: Arc<Graph>,
        fidelity: Fidelity,
        threads: NonZeroUsize,
        prepared: Prepared,
        inputs: &[Tensor],
        baked: &Baked<'_>,
    ) -> Result<Self, EngineError> {
        let Prepared { model, values, constants, outputs } = prepared;
        let (plan, state) = guard::load(&graph, || {
            let executor = (threads.get() > 1).then(|| Executor::multithread(threads.get()));
            let options = RunOptions { executor, ..RunOptions::default() };
            let plan = TypedSimplePlan::new_with_options(model, &options)?;
            let state = plan.spawn()?;
            Ok((plan, state))
        })?;
        let (kernels, kernel_of) = kernels(&graph, &plan, fidelity, &values);
        let inputs = inputs.iter().enumerate().map(|(slot, tensor)| ExpectedInput {
            dtype: tensor.dtype(),
            shape: tensor.shape().to_vec(),
            baked: baked.iter().any(|(baked, _)| *baked == slot).then(|| tensor.clone()),
        });
        Ok(Self {
            plan,
            kernels,
            kernel_of,
            constants: constants.into_iter().map(|(value, outlet)| (value, outlet.node)).collect(),
            outputs,
            inputs: inputs.collect(),
            states: Mutex::new(vec![state]),
            graph,
        })
    }

    fn take_state(&self) -> TractResult<TypedSimpleState> {
        let idle = self.states.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| self.plan.spawn(), Ok)
    }

    fn give_back(&self, state: TypedSimpleState) {
        self.states.lock().unwrap_or_else(PoisonError::into_inner).push(state);
    }

    /// Runs with an observer around every node. The node that the run has come to is left in `last`.
    fn observed(
        &self,
        state: &mut TypedSimpleState,
        inputs: TVec<TValue>,
        observer: &dyn RunObserver,
        interest: &Interest,
        run: RunId,
        last: &mut usize,
    ) -> TractResult<TVec<TValue>> {
        let only_times = interest.before.is_empty() && interest.after.is_empty();
        state.run_plan_with_eval(inputs, |context, op_state, node, inputs| -> TractResult<TVec<TValue>> {
            let id = self.kernel_of[node.id];
            *last = node.id;
            if id == NO_KERNEL {
                return eval(context, op_state, node, inputs);
            }
            if only_times {
                let start = Ticks::now();
                let outputs = eval(context, op_state, node, inputs);
                observer.timed(id, start, Ticks::now());
                return outputs;
            }
            let dispatch = Dispatch { run, kernel: &self.kernels[id.index()], graph: &self.graph };
            let (inputs, skipped) = self.before(observer, interest, &dispatch, inputs)?;
            let outputs = match skipped {
                Some(outputs) => outputs,
                None => {
                    let start = Ticks::now();
                    let outputs = eval(context, op_state, node, inputs);
                    if interest.times {
                        observer.timed(id, start, Ticks::now());
                    }
                    outputs?
                }
            };
            self.after(observer, interest, &dispatch, outputs)
        })
    }

    fn before(
        &self,
        observer: &dyn RunObserver,
        interest: &Interest,
        dispatch: &Dispatch<'_>,
        inputs: TVec<TValue>,
    ) -> TractResult<(TVec<TValue>, Option<TVec<TValue>>)> {
        if !interest.before.contains(dispatch.kernel.id) {
            return Ok((inputs, None));
        }
        let action = {
            let views: Vec<TensorView<'_>> = inputs.iter().map(|input| view(input)).collect();
            observer.before(dispatch, &views)
        };
        match action {
            Action::Stop(reason) => Err(Stopped(reason).into()),
            Action::ReplaceInputs(tensors) => Ok((import_all(&tensors)?, None)),
            Action::Skip(tensors) => Ok((inputs, Some(import_all(&tensors)?))),
            _ => Ok((inputs, None)),
        }
    }

    fn after(
        &self,
        observer: &dyn RunObserver,
        interest: &Interest,
        dispatch: &Dispatch<'_>,
        outputs: TVec<TValue>,
    ) -> TractResult<TVec<TValue>> {
        if !interest.after.contains(dispatch.kernel.id) {
            return Ok(outputs);
        }
        let action = {
            let views: Vec<TensorView<'_>> = outputs.iter().map(|output| view(output)).collect();
            observer.after(dispatch, &views)
        };
        match action {
            Action::Stop(reason) => Err(Stopped(reason).into()),
            Action::Replace(tensors) => import_all(&tensors),
            _ => Ok(outputs),
        }
    }

    /// Runs again to see which node panics: a run that nobody watches does not count them.
    fn place_of_panic(&self, inputs: &TVec<TValue>) -> usize {
        let mut last = usize::MAX;
        let _ = guard::catch(|| {
            let mut state = self.plan.spawn()?;
            self.observed(&mut state, inputs.clone(), &NoObserver, &Interest::default(), RunId(0), &mut last)
        });
        last
    }

    fn failed(&self, error: &TractError, last: usize) -> EngineError {
        if let Some(Stopped(reason)) = error.downcast_ref::<Stopped>() {
            return EngineError::Stopped(reason.clone());
        }
        let (node, reason) = guard::explain(error, &self.graph);
        EngineError::Run { node: self.operator_at(last).or(node), reason }
    }

    /// The name of the operator that a node of tract's counts for.
    fn operator_at(&self, node: usize) -> Option<String> {
        let kernel = self.kernels.get(self.kernel_of.get(node)?.index())?;
        Some(self.graph.operator(kernel.operator()).name.clone())
    }
}

impl Plan for TractPlan {
    fn kernels(&self) -> &Arc<[Kernel]> {
        &self.kernels
    }

    fn constants(&self, visit: &mut dyn FnMut(ValueId, TensorView<'_>) -> io::Result<()>) -> io::Result<()> {
        for &(value, node) in &self.constants {
            if let Some(constant) = self.plan.model().node(node).op_as::<Const>() {
                visit(value, view(constant.val()))?;
            }
        }
        Ok(())
    }

    fn upload(&self, inputs: &[Tensor]) -> Result<Box<dyn Resident>, EngineError> {
        let names = || self.graph.inputs.iter().map(|&input| self.graph.value(input).name.clone()).collect::<Vec<_>>();
        if inputs.len() != self.inputs.len() {
            return Err(EngineError::InputCount {
                expected: self.inputs.len(),
                names: names().join(", "),
                found: inputs.len(),
            });
        }
        for (slot, (tensor, expected)) in inputs.iter().zip(&self.inputs).enumerate() {
            if tensor.dtype() != expected.dtype {
                let name = names().swap_remove(slot);
                return Err(EngineError::InputType { name, expected: expected.dtype, found: tensor.dtype() });
            }
            let fits = tensor.shape() == expected.shape && expected.baked.as_ref().is_none_or(|baked| baked == tensor);
            if !fits {
                return Err(EngineError::InputShape {
                    name: names().swap_remove(slot),
                    expected: format!("{:?}, or another value than this plan was made for", expected.shape),
                    found: tensor.shape().to_vec(),
                });
            }
        }
        let free = inputs.iter().zip(&self.inputs).filter(|(_, expected)| expected.baked.is_none());
        let imported = guard::load(&self.graph, || import_all(free.map(|(tensor, _)| tensor)))?;
        Ok(Box::new(TractTensors(imported)))
    }

    fn run(
        &self,
        run: RunId,
        inputs: &dyn Resident,
        observer: &dyn RunObserver,
    ) -> Result<Box<dyn Resident>, EngineError> {
        let Some(TractTensors(inputs)) = inputs.as_any().downcast_ref() else {
            return Err(EngineError::Run { node: None, reason: "the inputs belong to another engine".to_owned() });
        };
        let interest = observer.interest();
        let mut last = usize::MAX;
        let start = Ticks::now();
        let outcome = guard::catch(|| {
            let mut state = self.take_state()?;
            let outputs = if interest.is_nothing() {
                state.run(inputs.clone())?
            } else {
                self.observed(&mut state, inputs.clone(), observer, &interest, run, &mut last)?
            };
            // A state that a run left early is not used again.
            self.give_back(state);
            Ok(outputs)
        });
        let end = Ticks::now();
        let outcome = match outcome {
            Ok(Ok(mut outputs)) => {
                outputs.truncate(self.outputs);
                Ok(outputs)
            }
            Ok(Err(error)) => Err(self.failed(&error, last)),
            Err(reason) => {
                if interest.is_nothing() {
                    last = self.place_of_panic(inputs);
                }
                Err(EngineError::Panic { node: self.operator_at(last), reason })
            }
        };
        observer.finished(outcome.as_ref().map(|_| (start, end)));
        outcome.map(|outputs| Box::new(TractTensors(outputs)) as Box<dyn Resident>)
    }
}

/// An observer's wish, on its way through the engine.
#[derive(Debug)]
struct Stopped(String);

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "stopped: {}", self.0)
    }
}

impl std::error::Error for Stopped {}
