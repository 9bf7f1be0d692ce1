//! A model of two kernels whose engine takes the times that it is told to.

#![allow(dead_code, reason = "each test file uses its share")]

use std::any::Any;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::{
    Attribution, DeviceTensors, EngineError, Fidelity, Instrument, Kernel, KernelId, RunId, RunInfo, TensorMemory,
    TensorType,
};
use opscope_onnx::{Graph, Operator, OperatorId, Source};
use opscope_profile::{Profiler, ProfilerOptions, Recording, RecordingInfo};
use opscope_tensor::{DType, Tensor, TensorView};

pub struct Paper {
    pub graph: Arc<Graph>,
    pub kernels: Arc<[Kernel]>,
}

impl Paper {
    pub fn new() -> Self {
        let operator = |index, name: &str, op_type: &str| Operator {
            id: OperatorId::new(index),
            name: name.to_owned(),
            op_type: op_type.to_owned(),
            domain: String::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            captures: Vec::new(),
            attributes: BTreeMap::new(),
            position: index as usize,
        };
        let graph = Graph {
            source: Source {
                path: PathBuf::from("paper.onnx"),
                bytes: Default::default(),
                xxh3: 7,
                producer: "hand".to_owned(),
            },
            name: "paper".to_owned(),
            operators: vec![operator(0, "a", "MatMul"), operator(1, "b", "Relu")],
            values: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            opsets: BTreeMap::new(),
        };
        Self { graph: Arc::new(graph), kernels: Self::kernels() }
    }

    pub fn kernels() -> Arc<[Kernel]> {
        let kernel = |index: u32, name: &str| Kernel {
            id: KernelId::new(index),
            name: name.to_owned(),
            op: format!("Opt{name}"),
            operators: vec![Attribution { operator: OperatorId::new(index), exact: true }],
            inputs: Vec::new(),
            outputs: Vec::new(),
            input_types: vec![TensorType { dtype: Some(DType::F32), shape: vec![2, 3] }],
            holds: Vec::new(),
            output_types: Vec::new(),
        };
        [kernel(0, "a"), kernel(1, "b")].into()
    }

    pub fn recording_info(&self) -> RecordingInfo {
        RecordingInfo {
            graph: Arc::clone(&self.graph),
            engine: "paper".to_owned(),
            engine_version: "1".to_owned(),
            fidelity: Fidelity::Optimised,
            engine_threads: 1,
            concurrent_runs: 1,
        }
    }

    pub fn profiler(&self, directory: &Path, options: &ProfilerOptions) -> Profiler {
        Profiler::create(directory, &self.recording_info(), options).expect("a new directory")
    }

    /// Runs once, with the clock's own times.
    pub fn run(&self, profiler: &Profiler, run: u64) {
        self.run_plan(profiler, run, &self.kernels);
    }

    /// Runs once and computes in place: each run holds an input of 24 bytes, and in the end an output of 8.
    pub fn run_plan(&self, profiler: &Profiler, run: u64, kernels: &Arc<[Kernel]>) {
        let info = RunInfo { id: RunId(run), graph: &self.graph, kernels, fidelity: Fidelity::Optimised };
        let _correlated = opscope_trace::correlate();
        let observer = profiler.observe(&info);
        let (input, output) = (Given::of(&[2, 3]), Given::of(&[2]));
        observer.uploaded(&input, Ticks::now(), Ticks::now());
        let start = Ticks::now();
        if observer.interest().times {
            for kernel in kernels.iter() {
                let start = Ticks::now();
                observer.timed(kernel.id, start, Ticks::now());
            }
        }
        if observer.interest().memory {
            let between = TensorMemory { address: 1, bytes: 100 };
            observer.allocated(between, Ticks::now());
            observer.allocated(output.memory(), Ticks::now());
            observer.freed(between, Ticks::now());
        }
        observer.finished(Ok((start, Ticks::now())));
        observer.downloaded(&output, Ticks::now(), Ticks::now());
    }

    /// Runs once and fails in the second kernel.
    pub fn fail(&self, profiler: &Profiler, run: u64) {
        let info =
            RunInfo { id: RunId(run), graph: &self.graph, kernels: &self.kernels, fidelity: Fidelity::Optimised };
        let observer = profiler.observe(&info);
        let start = Ticks::now();
        observer.timed(KernelId::new(0), start, Ticks::now());
        observer.finished(Err(&EngineError::Stopped("a test".to_owned())));
    }
}

/// A tensor that the engine holds.
struct Given(Tensor);

impl Given {
    fn of(shape: &[usize]) -> Self {
        let zeros = vec![0.0; shape.iter().product()];
        Self(Tensor::from_f32(shape.to_vec(), &zeros).expect("as many elements as the shape has"))
    }

    fn memory(&self) -> TensorMemory {
        TensorMemory { address: self.0.bytes().as_ptr().addr() as u64, bytes: self.0.bytes().len() as u64 }
    }
}

impl DeviceTensors for Given {
    fn len(&self) -> usize {
        1
    }

    fn view(&self, _index: usize) -> TensorView<'_> {
        self.0.view()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

pub fn open(directory: &Path) -> Recording {
    Recording::open(directory).expect("a recording")
}

/// Returns how many runs and dispatches a recording holds.
pub fn counts(recording: &Recording) -> (u64, u64) {
    let mut counts = (0, 0);
    for fact in recording.facts().expect("records") {
        match fact.expect("a record") {
            opscope_profile::Fact::Run(_) => counts.0 += 1,
            opscope_profile::Fact::Dispatch(_) => counts.1 += 1,
            _ => {}
        }
    }
    counts
}
