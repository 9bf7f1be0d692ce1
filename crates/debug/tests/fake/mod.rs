//! A model of a few lines, with an engine that does what an observer wants.
//!
//! `x -> scale (Mul, by the weight w) -> a -> log (Log) -> b -> sum (Add, with a) -> c -> relu (Relu) -> y`. The last two
//! are one kernel; `shape` (Shape) is computed when the model is loaded. Another plan makes three kernels of `log`.

#![allow(dead_code, reason = "each test binary takes what it needs")]

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_debug::Debugger;
use opscope_model::{
    Action, Attribution, Dispatch, EngineError, Fidelity, Instrument, Kernel, KernelId, KernelInput, LiveValues, RunId,
    RunInfo, RunObserver, TensorType,
};
use opscope_onnx::{Attribute, Graph, Operator, OperatorId, Producer, Source, Value, ValueId};
use opscope_tensor::{DType, Tensor, TensorView};

/// The model.
pub struct Fake {
    pub graph: Arc<Graph>,
    pub kernels: Arc<[Kernel]>,
}

/// The input that makes nothing special.
pub const PLAIN: [f32; 4] = [1.0, 2.0, 3.0, 4.0];

/// The weight.
const WEIGHT: [f32; 4] = [2.0, 2.0, 2.0, 2.0];

const OPERATORS: [(&str, &str, &[u32], u32); 5] = [
    ("scale", "Mul", &[0, 1], 2),
    ("log", "Log", &[2], 3),
    ("sum", "Add", &[2, 3], 4),
    ("relu", "Relu", &[4], 5),
    ("shape", "Shape", &[], 6),
];

const VALUES: [&str; 7] = ["x", "w", "a", "b", "c", "y", "s"];

impl Fake {
    pub fn new() -> Self {
        let operator = |(index, (name, op_type, inputs, output)): (usize, &(&str, &str, &[u32], u32))| Operator {
            id: OperatorId::new(index as u32),
            name: (*name).into(),
            op_type: (*op_type).into(),
            domain: String::new(),
            inputs: inputs.iter().map(|&input| Some(ValueId::new(input))).collect(),
            outputs: vec![Some(ValueId::new(*output))],
            captures: vec![],
            attributes: BTreeMap::from([("axis".to_owned(), Attribute::Int(1))]),
            position: index,
        };
        let producer = |value: usize| match value {
            0 => Producer::Input,
            1 => Producer::Initializer,
            _ => Producer::Operator(OperatorId::new(value as u32 - 2), 0),
        };
        let value = |(index, name): (usize, &&str)| Value {
            id: ValueId::new(index as u32),
            name: (*name).into(),
            producer: producer(index),
            consumers: vec![],
            dtype: Some(DType::F32),
            shape: None,
        };
        let graph = Graph {
            source: Source {
                path: PathBuf::from("fake.onnx"),
                bytes: Default::default(),
                xxh3: 1,
                producer: String::new(),
            },
            name: "fake".into(),
            operators: OPERATORS.iter().enumerate().map(operator).collect(),
            values: VALUES.iter().enumerate().map(value).collect(),
            inputs: vec![ValueId::new(0)],
            outputs: vec![ValueId::new(5)],
            opsets: BTreeMap::new(),
        };
        let tensor = TensorType { dtype: Some(DType::F32), shape: vec![2, 2] };
        let kernel = |index: u32, operators: &[u32], inputs: &[u32], output: u32| Kernel {
            id: KernelId::new(index),
            name: format!("kernel {index}"),
            op: OPERATORS[operators[0] as usize].1.to_lowercase(),
            operators: operators
                .iter()
                .map(|&operator| Attribution { operator: OperatorId::new(operator), exact: true })
                .collect(),
            inputs: inputs
                .iter()
                .map(|&value| KernelInput { value: Some(ValueId::new(value)), constant: value == 1 })
                .collect(),
            outputs: vec![vec![ValueId::new(output)]],
            input_types: vec![tensor.clone(); inputs.len()],
            holds: vec![None],
            output_types: vec![tensor.clone()],
        };
        let kernels = [kernel(0, &[0], &[0, 1], 2), kernel(1, &[1], &[2], 3), kernel(2, &[2, 3], &[2, 3], 5)];
        Self { graph: Arc::new(graph), kernels: kernels.into() }
    }

    /// With `log` in three kernels: one brings the weight into a form, one takes the input, one gives the output.
    pub fn in_pieces() -> Self {
        let Self { graph, kernels } = Self::new();
        let [scale, log, sum] = &*kernels else { unreachable!("there are three") };
        let inside = KernelInput { value: None, constant: false };
        let pieces = [
            scale.clone(),
            Kernel { op: "pack".into(), inputs: vec![scale.inputs[1].clone()], outputs: vec![vec![]], ..log.clone() },
            Kernel { outputs: vec![vec![]], ..log.clone() },
            Kernel { op: "unpack".into(), inputs: vec![inside], ..log.clone() },
            sum.clone(),
        ];
        let numbered = |(index, kernel): (usize, Kernel)| Kernel { id: KernelId::new(index as u32), ..kernel };
        Self { graph, kernels: pieces.into_iter().enumerate().map(numbered).collect() }
    }

    /// Runs once on the calling thread.
    pub fn run(&self, debugger: &Debugger, run: u64, input: [f32; 4]) -> Result<Vec<f32>, EngineError> {
        let (graph, kernels) = (&self.graph, &self.kernels);
        let info = RunInfo { id: RunId(run), graph, kernels, fidelity: Fidelity::Exact };
        let observer = debugger.observe(&info);
        let start = Ticks::now();
        let outcome = self.execute(RunId(run), input, &*observer);
        observer.finished(outcome.as_ref().map(|_| (start, Ticks::now())));
        outcome
    }

    /// Returns the output of a run that no client changes.
    pub fn expected(input: [f32; 4]) -> Vec<f32> {
        input.iter().map(|x| relu(x * 2.0 + (x * 2.0).ln())).collect()
    }

    fn execute(&self, run: RunId, input: [f32; 4], observer: &dyn RunObserver) -> Result<Vec<f32>, EngineError> {
        let interest = observer.interest();
        let values = Values(RefCell::default());
        values.put(0, tensor(&input));
        values.put(1, tensor(&WEIGHT));
        for kernel in self.kernels.iter() {
            let mut inputs: Vec<Tensor> = kernel.inputs.iter().map(|input| values.get(input.value)).collect();
            let output = kernel.outputs[0].first();
            let live = values.shared();
            let dispatch = Dispatch { run, kernel, graph: &self.graph, inputs: &[], live: &live };
            let mut skipped = None;
            if interest.before.contains(kernel.id) {
                let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
                let action = observer.before(&dispatch, &views);
                drop(views);
                match action {
                    Action::Stop(reason) => return Err(EngineError::Stopped(reason)),
                    Action::ReplaceInputs(tensors) => inputs = tensors,
                    Action::Skip(outputs) => skipped = outputs.into_iter().next(),
                    _ => {}
                }
            }
            let mut made = match skipped {
                Some(output) => output,
                None => compute(kernel, &inputs, &self.graph)?,
            };
            if interest.after.contains(kernel.id) {
                let kept: Vec<TensorView<'_>> = match interest.keep_inputs.contains(kernel.id) {
                    true => inputs.iter().map(Tensor::view).collect(),
                    false => Vec::new(),
                };
                let dispatch = Dispatch { inputs: &kept, ..dispatch };
                let action = observer.after(&dispatch, &[made.view()]);
                drop(kept);
                match action {
                    Action::Stop(reason) => return Err(EngineError::Stopped(reason)),
                    Action::Replace(outputs) => made = outputs.into_iter().next().expect("one output"),
                    _ => {}
                }
            }
            values.put(output.map_or(INSIDE, |output| output.index()), made);
        }
        Ok(floats(&values.get(Some(ValueId::new(5)))))
    }
}

fn compute(kernel: &Kernel, inputs: &[Tensor], graph: &Graph) -> Result<Tensor, EngineError> {
    let a = floats(&inputs[0]);
    let b = inputs.get(1).map(floats).unwrap_or_default();
    if a.contains(&666.0) {
        let node = Some(graph.operator(kernel.operator()).name.clone());
        return Err(EngineError::Run { node, reason: "this number is not for multiplying".to_owned() });
    }
    let out: Vec<f32> = match &*kernel.op {
        "mul" => a.iter().zip(&b).map(|(a, b)| a * b).collect(),
        "log" => a.iter().map(|a| a.ln()).collect(),
        "pack" | "unpack" => a,
        _ => a.iter().zip(&b).map(|(a, b)| relu(a + b)).collect(),
    };
    Ok(tensor(&out))
}

/// NaN stays NaN.
pub fn relu(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

/// A tensor of the fake model.
pub fn tensor(values: &[f32]) -> Tensor {
    Tensor::from_f32(vec![2, 2], values).expect("four numbers")
}

/// The numbers of a tensor.
pub fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.bytes().as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
}

/// Where the output of a kernel is that is no value of the file, for the next kernel.
const INSIDE: usize = usize::MAX;

struct Values(RefCell<HashMap<usize, Tensor>>);

struct Shared(HashMap<usize, Tensor>);

impl Values {
    fn put(&self, value: usize, tensor: Tensor) {
        self.0.borrow_mut().insert(value, tensor);
    }

    fn get(&self, value: Option<ValueId>) -> Tensor {
        self.0.borrow()[&value.map_or(INSIDE, ValueId::index)].clone()
    }

    fn shared(&self) -> Shared {
        Shared(self.0.borrow().clone())
    }
}

impl LiveValues for Shared {
    fn value(&self, id: ValueId) -> Option<TensorView<'_>> {
        self.0.get(&id.index()).map(Tensor::view)
    }
}
