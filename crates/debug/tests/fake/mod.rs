//! A small model.
//!
//! `x -> scale (Mul, by the weight w) -> a -> log (Log) -> b -> sum (Add, with a) -> c -> relu (Relu) -> y`. The last
//! two are one kernel; `shape` (Shape) is computed when the model is loaded. Another plan makes three kernels of `log`.

#![allow(dead_code, reason = "each test binary takes what it needs")]

use std::ops::Deref;
use std::sync::Arc;

use opscope_debug::Debugger;
pub use opscope_model::testing::floats;
use opscope_model::testing::{FakePlan, GraphBuilder, added_kernel, failure, kernel};
use opscope_model::{EngineError, Fidelity, Kernel, KernelInput};
use opscope_onnx::{Attribute, Graph};
use opscope_tensor::Tensor;

/// The model.
pub struct Fake(FakePlan);

/// An input without special results.
pub const PLAIN: [f32; 4] = [1.0, 2.0, 3.0, 4.0];

/// The weight.
const WEIGHT: [f32; 4] = [2.0, 2.0, 2.0, 2.0];

impl Fake {
    pub fn new() -> Self {
        let graph = graph();
        let kernels = [kernel(&graph, 0, &["scale"]), kernel(&graph, 1, &["log"]), kernel(&graph, 2, &["sum", "relu"])];
        Self::of(graph, &kernels)
    }

    /// Returns a plan with `log` in three kernels: one transforms the weight, one takes the input, one gives the
    /// output.
    pub fn in_pieces() -> Self {
        let graph = graph();
        let scale = kernel(&graph, 0, &["scale"]);
        let log = |index| kernel(&graph, index, &["log"]);
        let inside = KernelInput { value: None, constant: false };
        let pieces = [
            Kernel { op: "pack".into(), inputs: vec![scale.inputs[1].clone()], outputs: vec![vec![]], ..log(1) },
            Kernel { outputs: vec![vec![]], ..log(2) },
            Kernel { op: "unpack".into(), inputs: vec![inside], ..log(3) },
        ];
        let [pack, log, unpack] = pieces;
        let kernels = [scale, pack, log, unpack, kernel(&graph, 4, &["sum", "relu"])];
        Self::of(graph, &kernels)
    }

    /// Returns a plan with the engine's own conversion between `scale` and `log`, which stands for no operator.
    pub fn with_added_kernel() -> Self {
        let graph = graph();
        let added = added_kernel(1, "log", "Convert");
        let kernels = [kernel(&graph, 0, &["scale"]), added, kernel(&graph, 2, &["log"])];
        let last = kernel(&graph, 3, &["sum", "relu"]);
        Self::of(graph, &[&kernels[..], &[last]].concat())
    }

    fn of(graph: Graph, kernels: &[Kernel]) -> Self {
        let graph = Arc::new(graph);
        let model = Arc::clone(&graph);
        let compute = move |kernel: &Kernel, inputs: &[Tensor]| compute(&model, kernel, inputs);
        Self(FakePlan::new(&graph, kernels.into(), Fidelity::Exact, compute).constant("w", tensor(&WEIGHT)))
    }

    /// Runs once on the calling thread.
    pub fn run(&self, debugger: &Debugger, run: u64, input: [f32; 4]) -> Result<Vec<f32>, EngineError> {
        self.run_on(debugger, run, &[tensor(&input)]).map(|outputs| floats(&outputs[0]))
    }

    /// Returns the output of an unchanged run.
    pub fn expected(input: [f32; 4]) -> Vec<f32> {
        input.iter().map(|x| relu(x * 2.0 + (x * 2.0).ln())).collect()
    }
}

impl Deref for Fake {
    type Target = FakePlan;

    fn deref(&self) -> &FakePlan {
        &self.0
    }
}

fn graph() -> Graph {
    GraphBuilder::new("fake")
        .input("x", &[2, 2])
        .initializer("w", &[2, 2])
        .operator("scale", "Mul", &["x", "w"], &["a"])
        .operator("log", "Log", &["a"], &["b"])
        .operator("sum", "Add", &["a", "b"], &["c"])
        .operator("relu", "Relu", &["c"], &["y"])
        .operator("shape", "Shape", &[], &["s"])
        .attribute("axis", &Attribute::Int(1))
        .output("y")
        .build()
}

fn compute(graph: &Graph, kernel: &Kernel, inputs: &[Tensor]) -> Result<Vec<Tensor>, EngineError> {
    if kernel.operators.is_empty() {
        return Ok(Vec::new());
    }
    let a = floats(&inputs[0]);
    let b = inputs.get(1).map(floats).unwrap_or_default();
    if a.contains(&666.0) {
        return Err(failure(graph, kernel, "this number is not for multiplying"));
    }
    let out: Vec<f32> = match &*kernel.op {
        "Mul" => a.iter().zip(&b).map(|(a, b)| a * b).collect(),
        "Log" => a.iter().map(|a| a.ln()).collect(),
        "pack" | "unpack" => a,
        _ => a.iter().zip(&b).map(|(a, b)| relu(a + b)).collect(),
    };
    Ok(vec![tensor(&out)])
}

/// NaN stays NaN.
pub fn relu(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

/// A tensor of the fake model.
pub fn tensor(values: &[f32]) -> Tensor {
    Tensor::from_f32(vec![2, 2], values).expect("four numbers")
}
