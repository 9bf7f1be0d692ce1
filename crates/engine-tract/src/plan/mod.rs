pub(crate) mod attribution;
pub(crate) mod kernels;
pub(crate) mod live_values;
pub(crate) mod memory;
pub(crate) mod observed_run;
pub(crate) mod preparation;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::{
    DeviceTensors, EngineError, Fidelity, Interest, Kernel, KernelId, NoObserver, Plan, RunId, RunMemory, RunObserver,
};
use opscope_onnx::{Graph, ValueId};
use opscope_sys::Mutex;
use opscope_tensor::{DType, Tensor, TensorView};
use tract_linalg::multithread::{Executor, multithread_tract_scope};
use tract_onnx::prelude::{TValue, TVec, TypedModel};
use tract_onnx::tract_core::internal::{
    OutletId, RunOptions, TractError, TractResult, TypedSimplePlan, TypedSimpleState,
};
use tract_onnx::tract_core::model::order::build_flush_list;
use tract_onnx::tract_core::ops::konst::Const;

use crate::budget::guard;
use crate::operators::{OutOfRange, sources_of_indices};
use crate::tensors::{TractTensors, import_all, view};
use kernels::{Kernels, Values, kernels};
use live_values::Outlets;
use memory::{HeldMemory, run_memory};
use observed_run::{ObservedRun, Stopped};
use preparation::{Baked, PreparedModel};

/// A plan of tract, with the states that runs take in turn.
pub(crate) struct TractPlan {
    graph: Arc<Graph>,
    plan: Arc<TypedSimplePlan>,
    /// Runs the work of operators on the plan's threads.
    executor: Executor,
    flushed: Vec<TVec<usize>>,
    memory: RunMemory,
    shapes_are_known: bool,
    kernels: Arc<[Kernel]>,
    /// The kernel of each of tract's nodes, or [`NO_KERNEL`].
    kernel_of: Vec<KernelId>,
    outlets: Outlets,
    constants: Vec<(ValueId, usize)>,
    outputs: usize,
    inputs: Vec<ExpectedInput>,
    notes: Vec<String>,
    made: (Ticks, Ticks),
    /// A state keeps what operators allocate for themselves. Each run takes one, so that concurrent runs never wait.
    states: Mutex<Vec<TypedSimpleState>>,
}

/// An input that the plan was made for.
struct ExpectedInput {
    dtype: DType,
    shape: Vec<usize>,
    /// The value, if it is part of the plan.
    baked: Option<Tensor>,
}

impl TractPlan {
    pub(crate) fn new(
        graph: Arc<Graph>,
        fidelity: Fidelity,
        threads: NonZeroUsize,
        prepared: PreparedModel,
        inputs: &[Tensor],
        baked: &Baked,
        start: Ticks,
    ) -> Result<Self, EngineError> {
        let PreparedModel { model, values, carried, constants, weights, outputs, notes } = prepared;
        let executor = match threads.get() {
            1 => Executor::SingleThread,
            threads => Executor::multithread(threads),
        };
        let (plan, state) = guard::load(&graph, || {
            let options = RunOptions { executor: Some(executor.clone()), ..RunOptions::default() };
            let plan = TypedSimplePlan::new_with_options(model, &options)?;
            let state = plan.spawn()?;
            Ok((plan, state))
        })?;
        let Kernels { kernels, kernel_of, mut outlets } = {
            let values = Values { values: &values, carried: &carried, weights: &weights };
            kernels(&graph, &plan, fidelity, &values)
        };
        outlets.extend(constants.iter().copied());
        let model = plan.model();
        // A value that a rewritten plan returns without computing it in a run is only known by its output.
        for (&value, &outlet) in graph.outputs.iter().zip(&model.outputs) {
            if model.node(outlet.node).op_is::<Const>() {
                outlets.entry(value).or_insert(outlet);
            }
        }
        let flushed =
            build_flush_list(model, plan.order_without_consts(), &model.outputs, |node| !node.op_is::<Const>());
        let memory = run_memory(model, plan.order_without_consts(), &flushed, &kernel_of);
        memory.check(&graph, &kernels)?;
        let shapes_are_known =
            model.nodes().iter().flat_map(|node| &node.outputs).all(|output| output.fact.shape.is_concrete());
        let inputs = inputs.iter().enumerate().map(|(slot, tensor)| ExpectedInput {
            dtype: tensor.dtype(),
            shape: tensor.shape().to_vec(),
            baked: baked.iter().any(|(baked, _)| *baked == slot).then(|| tensor.clone()),
        });
        Ok(Self {
            plan,
            executor,
            flushed,
            memory,
            shapes_are_known,
            kernels,
            kernel_of,
            outlets,
            constants: constants.into_iter().map(|(value, outlet)| (value, outlet.node)).collect(),
            outputs,
            inputs: inputs.collect(),
            notes,
            made: (start, Ticks::now()),
            states: Mutex::new(vec![state]),
            graph,
        })
    }

    fn take_state(&self) -> TractResult<TypedSimpleState> {
        let idle = self.states.lock().pop();
        idle.map_or_else(|| self.plan.spawn(), Ok)
    }

    fn give_back(&self, state: TypedSimpleState) {
        self.states.lock().push(state);
    }

    pub(crate) fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    pub(crate) fn model(&self) -> &TypedModel {
        self.plan.model()
    }

    pub(crate) fn outlets(&self) -> &Outlets {
        &self.outlets
    }

    /// Returns the nodes in order of execution.
    pub(crate) fn order(&self) -> &[usize] {
        self.plan.order_without_consts()
    }

    /// Returns, for each step of the order, the nodes whose values nothing takes after it.
    pub(crate) fn flushed(&self) -> &[TVec<usize>] {
        &self.flushed
    }

    /// Returns where a node gets its inputs from.
    pub(crate) fn sources(&self, node: usize) -> &[OutletId] {
        &self.model().node(node).inputs
    }

    pub(crate) fn kernel_of(&self, node: usize) -> KernelId {
        self.kernel_of[node]
    }

    /// Returns the kernel of a node; `None` for inputs.
    pub(crate) fn kernel_at(&self, node: usize) -> Option<&Kernel> {
        self.kernels.get(self.kernel_of[node].index())
    }

    /// Returns whether no shape depends on what a run computes.
    pub(crate) fn shapes_are_known(&self) -> bool {
        self.shapes_are_known
    }

    /// Does the work of a run with the plan's threads. Without an executor, even for a single thread, each product
    /// would look for one under a lock that all threads share, and that the child of a fork might find locked.
    pub(crate) fn with_threads<T>(&self, work: impl FnOnce() -> T) -> T {
        multithread_tract_scope(self.executor.clone(), work)
    }

    /// Finds the node that fails by running again, because a run without an observer does not record it.
    fn place_of_failure(&self, inputs: &TVec<TValue>) -> usize {
        let last = Cell::new(usize::MAX);
        let interest = Interest::default();
        let observed = ObservedRun {
            plan: self,
            run: RunId(0),
            observer: &NoObserver,
            interest: &interest,
            inputs,
            last: &last,
            memory: None,
        };
        let _ = guard::catch(|| observed.execute(&mut self.plan.spawn()?));
        last.get()
    }

    fn failed(&self, error: &TractError, last: usize) -> EngineError {
        if let Some(Stopped(reason)) = error.downcast_ref::<Stopped>() {
            return EngineError::Stopped(reason.clone());
        }
        let (node, reason) = guard::explain(error, &self.graph);
        let node = self.operator_at(last).or(node);
        if let Some(out_of_range) = error.downcast_ref::<OutOfRange>() {
            let operator = node.as_deref().and_then(|node| self.graph.operator_named(node));
            let sources = operator.map(|operator| sources_of_indices(operator, &self.graph)).unwrap_or_default();
            return EngineError::Index { node, reason: format!("{out_of_range}{sources}") };
        }
        EngineError::Run { node, reason }
    }

    /// Returns the name of the operator that one of tract's nodes counts for.
    fn operator_at(&self, node: usize) -> Option<String> {
        let kernel = self.kernels.get(self.kernel_of.get(node)?.index())?;
        Some(self.graph.operator(kernel.operator()?).name.clone())
    }
}

impl Plan for TractPlan {
    fn kernels(&self) -> &Arc<[Kernel]> {
        &self.kernels
    }

    fn made(&self) -> (Ticks, Ticks) {
        self.made
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn memory(&self) -> RunMemory {
        self.memory
    }

    fn constants(&self, visit: &mut dyn FnMut(ValueId, TensorView<'_>) -> io::Result<()>) -> io::Result<()> {
        for &(value, node) in &self.constants {
            if let Some(constant) = self.plan.model().node(node).op_as::<Const>() {
                visit(value, view(constant.val()))?;
            }
        }
        Ok(())
    }

    fn upload(&self, inputs: &[Tensor]) -> Result<Box<dyn DeviceTensors>, EngineError> {
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
        Ok(Box::new(TractTensors(self.import(inputs)?)))
    }

    fn run(
        &self,
        run: RunId,
        inputs: &dyn DeviceTensors,
        observer: &dyn RunObserver,
    ) -> Result<Box<dyn DeviceTensors>, EngineError> {
        match inputs.as_any().downcast_ref() {
            Some(TractTensors(inputs)) => self.execute(run, inputs.clone(), || Some(inputs.clone()), observer),
            None => Err(foreign(observer)),
        }
    }

    fn run_once(
        &self,
        run: RunId,
        uploaded: Box<dyn DeviceTensors>,
        given: &[Tensor],
        observer: &dyn RunObserver,
    ) -> Result<Box<dyn DeviceTensors>, EngineError> {
        let uploaded: Box<dyn Any> = uploaded;
        match uploaded.downcast::<TractTensors>() {
            Ok(uploaded) => {
                let TractTensors(inputs) = *uploaded;
                self.execute(run, inputs, || self.import(given).ok(), observer)
            }
            Err(_) => Err(foreign(observer)),
        }
    }
}

fn foreign(observer: &dyn RunObserver) -> EngineError {
    let error = EngineError::Run { node: None, reason: "the inputs belong to another engine".to_owned() };
    observer.finished(Err(&error));
    error
}

impl TractPlan {
    /// Returns copies for tract of the inputs that are no part of the plan.
    fn import(&self, inputs: &[Tensor]) -> Result<TVec<TValue>, EngineError> {
        let free = inputs.iter().zip(&self.inputs).filter(|(_, expected)| expected.baked.is_none());
        guard::load(&self.graph, || import_all(free.map(|(tensor, _)| tensor)))
    }

    /// Runs once. Operators compute in place of inputs that nothing else has. `again` returns the inputs for another
    /// run, which finds the place of a failure.
    fn execute(
        &self,
        run: RunId,
        inputs: TVec<TValue>,
        again: impl FnOnce() -> Option<TVec<TValue>>,
        observer: &dyn RunObserver,
    ) -> Result<Box<dyn DeviceTensors>, EngineError> {
        let interest = observer.interest();
        let last = Cell::new(usize::MAX);
        let start = Ticks::now();
        let outcome = guard::catch(|| {
            let mut state = self.take_state()?;
            let outputs = if interest.is_nothing() {
                state.run(inputs)?
            } else {
                let memory = interest.memory.then(|| RefCell::new(HeldMemory::new(self, observer, &inputs)));
                let (inputs, memory) = (&inputs, memory.as_ref());
                ObservedRun { plan: self, run, observer, interest: &interest, inputs, last: &last, memory }
                    .execute(&mut state)?
            };
            // A state that a run left early is not reused.
            self.give_back(state);
            Ok(outputs)
        });
        let end = Ticks::now();
        let outcome = match outcome {
            Ok(Ok(mut outputs)) => {
                outputs.truncate(self.outputs);
                Ok(outputs)
            }
            Ok(Err(error)) => {
                // tract renames an operator with bodies, so its errors do not always name their origin.
                if interest.is_nothing() && guard::explain(&error, &self.graph).0.is_none() {
                    last.set(again().map_or(usize::MAX, |inputs| self.place_of_failure(&inputs)));
                }
                Err(self.failed(&error, last.get()))
            }
            Err(reason) => {
                if interest.is_nothing() {
                    last.set(again().map_or(usize::MAX, |inputs| self.place_of_failure(&inputs)));
                }
                Err(EngineError::Panic { node: self.operator_at(last.get()), reason })
            }
        };
        observer.finished(outcome.as_ref().map(|_| (start, end)));
        outcome.map(|outputs| Box::new(TractTensors(outputs)) as Box<dyn DeviceTensors>)
    }
}
