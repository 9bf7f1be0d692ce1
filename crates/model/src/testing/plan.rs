use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::{fmt, io};

use opscope_clock::Ticks;
use opscope_onnx::{Graph, OperatorId, Producer, ValueId};
use opscope_tensor::{Tensor, TensorView};

use super::kernels::shape;
use super::{GraphBuilder, kernels};
use crate::{
    Action, DeviceTensors, Dispatch, EngineError, Fidelity, Instrument, Interest, Iteration, Kernel, KernelInput,
    LiveValues, Model, Plan, RunId, RunInfo, RunMemory, RunObserver, TensorMemory,
};

/// A plan whose kernels are computed by a function, and a model with this plan only. It calls observers as an engine
/// does: they may stop a run, skip a kernel, and replace its inputs and outputs.
#[derive(Clone)]
pub struct FakePlan {
    /// The graph.
    pub graph: Arc<Graph>,
    /// The kernels that every run executes.
    pub kernels: Arc<[Kernel]>,
    fidelity: Fidelity,
    /// The weights, and the values that were computed at load.
    constants: BTreeMap<ValueId, Tensor>,
    /// The bodies of operators. Each comes after those around it.
    bodies: Vec<Body>,
    compute: Arc<Compute>,
}

/// The body of an operator.
#[derive(Clone)]
struct Body {
    kernels: Range<usize>,
    operator: OperatorId,
    iterations: u32,
}

/// A run that is being executed.
struct Running<'a> {
    run: RunId,
    observer: &'a dyn RunObserver,
    interest: Interest,
    values: Values,
}

type Compute = dyn Fn(&Kernel, &[Tensor]) -> Result<Vec<Tensor>, EngineError> + Send + Sync;

/// Values of the file by their id. `None` holds the last output that is not a value of the file.
type Values = BTreeMap<Option<ValueId>, Tensor>;

impl FakePlan {
    /// Creates a plan of these kernels. `compute` returns the outputs of a kernel for its inputs.
    pub fn new(
        graph: &Arc<Graph>,
        kernels: Arc<[Kernel]>,
        fidelity: Fidelity,
        compute: impl Fn(&Kernel, &[Tensor]) -> Result<Vec<Tensor>, EngineError> + Send + Sync + 'static,
    ) -> Self {
        let (graph, compute) = (Arc::clone(graph), Arc::new(compute));
        Self { graph, kernels, fidelity, constants: BTreeMap::new(), bodies: Vec::new(), compute }
    }

    /// Replaces the kernels.
    pub fn with_kernels(self, kernels: Arc<[Kernel]>) -> Self {
        Self { kernels, ..self }
    }

    /// Adds the data of a weight, or of a value that was computed at load.
    ///
    /// # Panics
    /// If no value has this name.
    pub fn constant(mut self, name: &str, data: Tensor) -> Self {
        let value = self.graph.value_named(name).unwrap_or_else(|| panic!("no value is named '{name}'"));
        self.constants.insert(value.id, data);
        self
    }

    /// Makes these kernels the body of an operator, which every run executes this many times. It is executed within the
    /// operator's own kernel if that directly precedes them, or precedes another body of the operator. A nested body
    /// must be added after the one around it.
    ///
    /// # Panics
    /// If no operator has this name.
    pub fn with_body(mut self, kernels: Range<usize>, operator: &str, iterations: u32) -> Self {
        let named = self.graph.operator_named(operator);
        let operator = named.unwrap_or_else(|| panic!("no operator is named '{operator}'")).id;
        self.bodies.push(Body { kernels, operator, iterations });
        self
    }

    /// Replaces the computation of the kernels.
    pub fn computing(
        self,
        compute: impl Fn(&Kernel, &[Tensor]) -> Result<Vec<Tensor>, EngineError> + Send + Sync + 'static,
    ) -> Self {
        Self { compute: Arc::new(compute), ..self }
    }

    /// Makes a kernel fail.
    pub fn fail_at(mut self, index: usize) -> Self {
        let (graph, compute) = (Arc::clone(&self.graph), self.compute);
        self.compute = Arc::new(move |kernel, inputs| match kernel.id.index() == index {
            true => Err(failure(&graph, kernel, "it was made to fail")),
            false => compute(kernel, inputs),
        });
        self
    }

    /// Runs once on the calling thread, under an instrument, with inputs of zeros. Returns the outputs.
    ///
    /// # Errors
    /// Returns the error of a kernel, or of an instrument that stopped the run.
    pub fn run_with(&self, instrument: &dyn Instrument, run: u64) -> Result<Vec<Tensor>, EngineError> {
        let zeros = |id: &ValueId| {
            let shape = shape(&self.graph, *id);
            Tensor::from_f32(shape.clone(), &vec![0.0; shape.iter().product()]).expect("as many elements as it has")
        };
        self.run_on(instrument, run, &self.graph.inputs.iter().map(zeros).collect::<Vec<_>>())
    }

    /// Runs once on the calling thread, under an instrument. Returns the outputs.
    ///
    /// # Errors
    /// Returns the error of a kernel, or of an instrument that stopped the run.
    pub fn run_on(&self, instrument: &dyn Instrument, run: u64, inputs: &[Tensor]) -> Result<Vec<Tensor>, EngineError> {
        let (graph, kernels) = (&self.graph, &self.kernels);
        let info = RunInfo { id: RunId(run), graph, kernels, fidelity: self.fidelity };
        let observer = instrument.observe(&info);
        let start = Ticks::now();
        let inputs = FakeTensors(inputs.to_vec());
        observer.uploaded(&inputs, start, Ticks::now());
        let outputs = FakeTensors(self.observed(info.id, &inputs.0, &*observer)?);
        let start = Ticks::now();
        observer.downloaded(&outputs, start, Ticks::now());
        Ok(outputs.0)
    }

    fn observed(&self, run: RunId, inputs: &[Tensor], observer: &dyn RunObserver) -> Result<Vec<Tensor>, EngineError> {
        let start = Ticks::now();
        let outcome = self.execute(run, inputs, observer);
        observer.finished(outcome.as_ref().map(|_| (start, Ticks::now())));
        outcome
    }

    fn execute(&self, run: RunId, inputs: &[Tensor], observer: &dyn RunObserver) -> Result<Vec<Tensor>, EngineError> {
        let given = self.graph.inputs.iter().zip(inputs);
        let values = given.chain(&self.constants).map(|(id, data)| (Some(*id), data.clone())).collect();
        let mut running = Running { run, observer, interest: observer.interest(), values };
        self.execute_kernels(&mut running, 0..self.kernels.len(), &[], 0)?;
        Ok(self.graph.outputs.iter().map(|id| running.values[&Some(*id)].clone()).collect())
    }

    /// Executes kernels. `body` is the first of the bodies among them.
    fn execute_kernels(
        &self,
        running: &mut Running<'_>,
        kernels: Range<usize>,
        path: &[Iteration],
        first_body: usize,
    ) -> Result<(), EngineError> {
        let mut next = kernels.start;
        while next < kernels.end {
            next = match self.body_at(next, first_body) {
                Some(body) => self.execute_body(running, body, path)?,
                None => self.execute_kernel(running, next, path, first_body)?,
            };
        }
        Ok(())
    }

    fn body_at(&self, kernel: usize, first_body: usize) -> Option<usize> {
        (first_body..self.bodies.len()).find(|&body| self.bodies[body].kernels.start == kernel)
    }

    /// Executes all iterations of a body, and returns the kernel after it.
    fn execute_body(&self, running: &mut Running<'_>, body: usize, path: &[Iteration]) -> Result<usize, EngineError> {
        let Body { kernels, operator, iterations } = &self.bodies[body];
        for index in 0..*iterations {
            let path = [path, &[Iteration { operator: *operator, index }]].concat();
            self.execute_kernels(running, kernels.clone(), &path, body + 1)?;
        }
        Ok(kernels.end)
    }

    /// Executes a kernel, and within it the bodies of its operator that follow it. Returns the kernel after them.
    fn execute_kernel(
        &self,
        running: &mut Running<'_>,
        index: usize,
        path: &[Iteration],
        first_body: usize,
    ) -> Result<usize, EngineError> {
        let (kernel, run, observer) = (&self.kernels[index], running.run, running.observer);
        let interest = running.interest.clone();
        let value = |input: &KernelInput| running.values[&input.value].clone();
        let mut inputs: Vec<Tensor> = kernel.inputs.iter().map(value).collect();
        let mut skipped = None;
        let is_shown = kernel.operator().is_some();
        if is_shown && interest.before.contains(kernel.id) {
            let dispatch = Dispatch { run, kernel, graph: &self.graph, path, inputs: &[], live: &running.values };
            match observer.before(&dispatch, &views(&inputs)) {
                Action::Stop(reason) => return Err(EngineError::Stopped(reason)),
                Action::ReplaceInputs(others) => inputs = others,
                Action::Skip(outputs) => skipped = Some(outputs),
                _ => {}
            }
        }
        if interest.starts && skipped.is_none() {
            observer.started(kernel.id, path);
        }
        let start = Ticks::now();
        let mut next = index + 1;
        let is_own = |body: &usize| Some(self.bodies[*body].operator) == kernel.operator();
        while let Some(body) = self.body_at(next, first_body).filter(is_own) {
            next = match skipped {
                Some(_) => self.bodies[body].kernels.end,
                None => self.execute_body(running, body, path)?,
            };
        }
        let mut outputs = match skipped {
            Some(outputs) => outputs,
            None => (self.compute)(kernel, &inputs)?,
        };
        if interest.times {
            observer.timed(kernel.id, path, start, Ticks::now());
        }
        if is_shown && interest.after.contains(kernel.id) {
            let kept = if interest.keep_inputs.contains(kernel.id) { views(&inputs) } else { Vec::new() };
            let dispatch = Dispatch { run, kernel, graph: &self.graph, path, inputs: &kept, live: &running.values };
            match observer.after(&dispatch, &views(&outputs)) {
                Action::Stop(reason) => return Err(EngineError::Stopped(reason)),
                Action::Replace(others) => outputs = others,
                _ => {}
            }
        }
        if interest.memory {
            self.report_memory(kernel, &outputs, &running.values, observer);
        }
        for (ids, output) in kernel.outputs.iter().zip(outputs) {
            match &ids[..] {
                [] => drop(running.values.insert(None, output)),
                ids => running.values.extend(ids.iter().map(|id| (Some(*id), output.clone()))),
            }
        }
        Ok(next)
    }
}

impl FakePlan {
    /// Reports the memory of the outputs as allocated, and that of the inputs that no later kernel takes as freed. A
    /// value that a kernel passes on is not new memory. Inputs of the kernels of a body are held until the end of the
    /// run.
    fn report_memory(&self, kernel: &Kernel, outputs: &[Tensor], values: &Values, observer: &dyn RunObserver) {
        let is_held = |memory: &TensorMemory| values.values().any(|value| memory_of(value) == *memory);
        let allocated = outputs.iter().map(memory_of).filter(|memory| memory.bytes > 0 && !is_held(memory));
        allocated.for_each(|memory| observer.allocated(memory, Ticks::now()));
        let later = &self.kernels[kernel.id.index() + 1..];
        let is_in_body = self.bodies.iter().any(|body| body.kernels.contains(&kernel.id.index()));
        let is_needed = |id: &ValueId| {
            let is_taken = later.iter().any(|kernel| kernel.inputs.iter().any(|input| input.value == Some(*id)));
            is_taken || is_in_body || self.graph.inputs.contains(id) || self.graph.outputs.contains(id)
        };
        let taken = kernel.inputs.iter().filter_map(|input| input.value);
        for id in taken.filter(|id| !is_needed(id) && !self.constants.contains_key(id)) {
            let memory = memory_of(&values[&Some(id)]);
            if !outputs.iter().any(|output| memory_of(output) == memory) {
                observer.freed(memory, Ticks::now());
            }
        }
    }
}

fn memory_of(tensor: &Tensor) -> TensorMemory {
    TensorMemory { address: tensor.bytes().as_ptr().addr() as u64, bytes: tensor.bytes().len() as u64 }
}

impl Model for FakePlan {
    fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    fn fidelity(&self) -> Fidelity {
        self.fidelity
    }

    fn plan(&self, _inputs: &[Tensor]) -> Result<Arc<dyn Plan>, EngineError> {
        Ok(Arc::new(self.clone()))
    }
}

impl Plan for FakePlan {
    fn kernels(&self) -> &Arc<[Kernel]> {
        &self.kernels
    }

    fn made(&self) -> (Ticks, Ticks) {
        (Ticks::default(), Ticks::default())
    }

    fn notes(&self) -> &[String] {
        &[]
    }

    fn memory(&self) -> RunMemory {
        RunMemory::default()
    }

    fn constants(&self, visit: &mut dyn FnMut(ValueId, TensorView<'_>) -> io::Result<()>) -> io::Result<()> {
        let at_load = |id: &ValueId| matches!(self.graph.value(*id).producer, Producer::Operator(..));
        self.constants.iter().filter(|(id, _)| at_load(id)).try_for_each(|(id, data)| visit(*id, data.view()))
    }

    fn upload(&self, inputs: &[Tensor]) -> Result<Box<dyn DeviceTensors>, EngineError> {
        Ok(Box::new(FakeTensors(inputs.to_vec())))
    }

    fn run(
        &self,
        run: RunId,
        inputs: &dyn DeviceTensors,
        observer: &dyn RunObserver,
    ) -> Result<Box<dyn DeviceTensors>, EngineError> {
        let FakeTensors(inputs) = inputs.as_any().downcast_ref().expect("what `upload` gave");
        Ok(Box::new(FakeTensors(self.observed(run, inputs, observer)?)))
    }
}

/// Returns the error of a kernel that fails for this reason.
pub fn failure(graph: &Graph, kernel: &Kernel, reason: &str) -> EngineError {
    let node = kernel.operator().map(|operator| graph.operator(operator).name.clone());
    EngineError::Run { node, reason: reason.to_owned() }
}

/// Returns the elements of a tensor of `f32`.
pub fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.bytes().as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
}

fn views(tensors: &[Tensor]) -> Vec<TensorView<'_>> {
    tensors.iter().map(Tensor::view).collect()
}

impl LiveValues for Values {
    fn value(&self, id: ValueId) -> Option<TensorView<'_>> {
        self.get(&Some(id)).map(Tensor::view)
    }
}

struct FakeTensors(Vec<Tensor>);

impl DeviceTensors for FakeTensors {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn view(&self, index: usize) -> TensorView<'_> {
        self.0[index].view()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl fmt::Debug for FakePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakePlan").field("kernels", &self.kernels).finish_non_exhaustive()
    }
}

/// Returns a plan with a sum in a loop. `first` (Relu) computes `a` from the input `x`. The body of `Loop_0` begins
/// with a state of `[0, 10]`, and each iteration adds `a` and the weight `w`, `[1, 2]`, to it: `Loop_0/Add_0` (Sum)
/// computes `Loop_0/sum`, and in the branch of `Loop_0/If_0`, `Loop_0/If_0/Neg_0` (Neg) negates it. The loop returns
/// `a` as `y`.
pub fn looping(iterations: u32) -> FakePlan {
    let graph = GraphBuilder::new("looping")
        .input("x", &[2])
        .operator("first", "Relu", &["x"], &["a"])
        .operator("Loop_0", "Loop", &["a"], &["y"])
        .output("y")
        .body("Loop_0", "body")
        .input("state", &[2])
        .initializer("w", &[2])
        .operator("Add_0", "Sum", &["state", "a", "w"], &["sum"])
        .operator("If_0", "If", &["sum"], &["chosen"])
        .output("sum")
        .output("chosen")
        .body("Loop_0/If_0", "then_branch")
        .operator("Neg_0", "Neg", &["sum"], &["negative"])
        .output("negative")
        .build();
    let groups = [["first"], ["Loop_0"], ["Loop_0/Add_0"], ["Loop_0/If_0"], ["Loop_0/If_0/Neg_0"]];
    let mut kernels = kernels(&graph, &groups.each_ref().map(|group| &group[..])).to_vec();
    // The engine passes the sum on to the next iteration.
    let state = graph.value_named("Loop_0/state").expect("it was added").id;
    kernels[2].outputs[0].push(state);
    let two = |elements: [f32; 2]| Tensor::from_f32(vec![2], &elements).expect("two elements");
    FakePlan::new(&Arc::new(graph), kernels.into(), Fidelity::Exact, move |kernel, inputs| {
        let sum = inputs.iter().map(floats).fold([0.0; 2], |sum, more| [sum[0] + more[0], sum[1] + more[1]]);
        let sign = if kernel.op == "Neg" { -1.0 } else { 1.0 };
        Ok(vec![two(sum.map(|element| sign * element))])
    })
    .constant("Loop_0/state", two([0.0, 10.0]))
    .constant("Loop_0/w", two([1.0, 2.0]))
    .with_body(2..5, "Loop_0", iterations)
    .with_body(4..5, "Loop_0/If_0", 1)
}
