//! The program that is debugged: a debugger with its server, and a model of a few lines.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use opscope_debug::Debugger;
use opscope_debug::server::{Listen, Server, ServerOptions};
use opscope_model::testing::{FakePlan, GraphBuilder, failure, floats, kernels};
use opscope_model::{EngineError, Fidelity, Kernel};
use opscope_tensor::Tensor;
use tempfile::TempDir;

/// A program that models are run in.
pub struct Debuggee {
    pub debugger: Debugger,
    pub socket: PathBuf,
    log: Arc<Mutex<Vec<String>>>,
    _server: Server,
    _directory: TempDir,
}

/// `x -> scale (Mul, by the weight w) -> a -> log (Log) -> b -> sum (Add, with a) -> y`: three kernels.
pub struct Lines(FakePlan);

/// Ends runs that continue until then, even if a test fails.
pub struct Done<'a>(pub &'a AtomicBool);

/// The input of runs.
pub const INPUT: [f32; 4] = [1.0, 2.0, 3.0, 4.0];

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Debuggee {
    pub fn new() -> Self {
        let directory = TempDir::new().expect("a directory");
        let socket = directory.path().join("model.sock");
        let log = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&log);
        let debugger = Debugger::with_log(move |message| kept.lock().expect("a lock").push(message.to_owned()));
        let debugger = debugger.expect("a debugger");
        let options = ServerOptions { listen: Listen::At(socket.clone()) };
        let server = debugger.serve(options).expect("a server");
        Self { debugger, socket, log, _server: server, _directory: directory }
    }

    /// Returns the variable that names it for a client.
    pub fn target(&self) -> (&'static str, &str) {
        ("OPSCOPE_DEBUG_TARGET", self.socket.to_str().expect("UTF-8"))
    }

    /// Returns what it logged.
    pub fn log(&self) -> String {
        self.log.lock().expect("a lock").join("\n")
    }
}

impl Lines {
    pub fn new() -> Self {
        Self::of_kernels(&[&["scale"], &["log"], &["sum"]])
    }

    /// Creates the same with two kernels. The second one executes `log` and `sum`.
    pub fn fused() -> Self {
        Self::of_kernels(&[&["scale"], &["log", "sum"]])
    }

    fn of_kernels(fusions: &[&[&str]]) -> Self {
        let graph = GraphBuilder::new("lines")
            .input("x", &[2, 2])
            .initializer("w", &[2, 2])
            .operator("scale", "Mul", &["x", "w"], &["a"])
            .operator("log", "Log", &["a"], &["b"])
            .operator("sum", "Add", &["a", "b"], &["y"])
            .output("y")
            .build();
        let graph = Arc::new(graph);
        let kernels = kernels(&graph, fusions);
        let named = Arc::clone(&graph);
        let plan =
            FakePlan::new(&graph, kernels, Fidelity::Exact, move |kernel, inputs| compute(&named, kernel, inputs));
        Self(plan.constant("w", tensor(&[2.0; 4])))
    }

    /// Makes `log` fail, or the engine panic there.
    pub fn with_failure(self, panics: bool) -> Self {
        if !panics {
            return Self(self.0.fail_at(1));
        }
        let kernels = Arc::clone(&self.0.kernels);
        let fail = |_: &Kernel, _: &[Tensor]| {
            Err(EngineError::Panic { node: Some("log".to_owned()), reason: "it was made to panic".to_owned() })
        };
        Self(FakePlan::new(&self.0.graph, kernels, Fidelity::Exact, fail).constant("w", tensor(&[2.0; 4])))
    }

    pub fn plan(&self) -> &FakePlan {
        &self.0
    }

    /// Runs once on the calling thread.
    pub fn run(&self, debuggee: &Debuggee, run: u64) -> Result<Vec<f32>, EngineError> {
        run_on(self, &debuggee.debugger, run)
    }

    /// The same from another input.
    pub fn run_from(&self, debuggee: &Debuggee, run: u64, input: [f32; 4]) -> Result<Vec<f32>, EngineError> {
        let outputs = self.0.run_on(&debuggee.debugger, run, &[tensor(&input)])?;
        Ok(floats(&outputs[0]))
    }

    /// Returns the output for the input of runs.
    pub fn expected() -> Vec<f32> {
        INPUT.iter().map(|x| x * 2.0 + (x * 2.0).ln()).collect()
    }
}

/// Runs a model once on the calling thread, for this debugger.
pub fn run_on(lines: &Lines, debugger: &Debugger, run: u64) -> Result<Vec<f32>, EngineError> {
    let outputs = lines.0.run_on(debugger, run, &[tensor(&INPUT)])?;
    Ok(floats(&outputs[0]))
}

fn compute(graph: &opscope_onnx::Graph, kernel: &Kernel, inputs: &[Tensor]) -> Result<Vec<Tensor>, EngineError> {
    let a = floats(&inputs[0]);
    let b = inputs.get(1).map(floats).unwrap_or_default();
    if a.contains(&666.0) {
        return Err(failure(graph, kernel, "this number is not for multiplying"));
    }
    let out: Vec<f32> = match &*kernel.op {
        "Mul" => a.iter().zip(&b).map(|(a, b)| a * b).collect(),
        "Log" if kernel.operators.len() == 2 => a.iter().map(|a| a + a.ln()).collect(),
        "Log" => a.iter().map(|a| a.ln()).collect(),
        _ => a.iter().zip(&b).map(|(a, b)| a + b).collect(),
    };
    Ok(vec![tensor(&out)])
}

/// A tensor of the model.
pub fn tensor(values: &[f32]) -> Tensor {
    Tensor::from_f32(vec![2, 2], values).expect("four numbers")
}
