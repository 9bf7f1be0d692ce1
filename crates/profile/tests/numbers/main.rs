//! The numbers of recordings, accounts and exports, against values that were computed by hand or by numpy.

mod account;
mod defaults;
mod exports;
mod intervals;

use std::any::Any;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::testing::{GraphBuilder, kernels};
use opscope_model::{DeviceTensors, Fidelity, Instrument, Kernel, KernelId, RunId, RunInfo};
use opscope_onnx::Graph;
use opscope_profile::{EngineInfo, Profiler, ProfilerOptions, Recording, RecordingInfo, RunKind};
use opscope_tensor::{Tensor, TensorView};

/// Tensors that were copied.
struct Copied(Vec<Tensor>);

impl DeviceTensors for Copied {
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

fn floats(count: usize) -> Copied {
    Copied(vec![Tensor::from_f32(vec![count], &vec![0.0; count]).unwrap()])
}

/// Four ticks make a nanosecond.
fn at(nanos: u64) -> Ticks {
    Ticks::from_raw(4 * nanos)
}

/// A product of [8, 4] and [4, 4] with a Relu fused into it, an addition, and an operator of an unknown type.
struct ThreeOperators {
    graph: Arc<Graph>,
    kernels: Arc<[Kernel]>,
}

impl ThreeOperators {
    fn new() -> Self {
        let graph = GraphBuilder::new("made")
            .input("x", &[8, 4])
            .initializer("w", &[4, 4])
            .operator("/encoder/layer.0/MatMul", "MatMul", &["x", "w"], &["a"])
            .operator("/encoder/layer.0/Relu", "Relu", &["a"], &["b"])
            .operator("/encoder/layer.1/Add", "Add", &["b", "b"], &["c"])
            .operator("last", "Mystery", &["c"], &["y"])
            .output("y")
            .build();
        let groups: [&[&str]; 3] =
            [&["/encoder/layer.0/MatMul", "/encoder/layer.0/Relu"], &["/encoder/layer.1/Add"], &["last"]];
        let kernels = kernels(&graph, &groups);
        Self { graph: Arc::new(graph), kernels }
    }

    /// Makes a recording with a clock whose tick 0 is 1,600,000,000 s after 1970.
    fn record(&self, directory: &Path, options: &ProfilerOptions, records: impl FnOnce(&Profiler)) -> Recording {
        let engine = EngineInfo::new("paper", "1", Fidelity::Optimised);
        let info = RecordingInfo { graph: Arc::clone(&self.graph), engine };
        let profiler = Profiler::create(directory, &info, options).unwrap();
        records(&profiler);
        profiler.finish().unwrap();
        let path = directory.join("manifest.json");
        let mut manifest: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        manifest["clock"] = serde_json::json!({
            "ticks": "tsc",
            "start": {"ticks": 0, "boottime_ns": 0},
            "end": {"ticks": 4_000_000_000_000_000u64, "boottime_ns": 1_000_000_000_000_000u64},
            "start_unix_ns": 1_600_000_000_000_000_000u64,
        });
        fs::write(&path, manifest.to_string()).unwrap();
        Recording::open(directory).unwrap()
    }

    fn run_info(&self, run: u64) -> RunInfo<'_> {
        RunInfo { id: RunId(run), graph: &self.graph, kernels: &self.kernels, fidelity: Fidelity::Optimised }
    }

    /// Makes run `run` at 1,000 ns times `run + 1`: 3 ns, the product (a nanosecond more in each run), 2 ns, the
    /// addition (20 ns), 5 ns, the last operator (10 ns more in each run), 7 ns. The inputs take 13 ns before the run,
    /// and the outputs 17 ns after it.
    fn run(&self, profiler: &Profiler, run: u64) {
        let observer = profiler.observe(&self.run_info(run));
        let begin = 1_000 * (run + 1);
        observer.uploaded(&floats(6), at(begin - 50), at(begin - 37));
        let (product, last) = (run + 1, 100 + 10 * run);
        observer.timed(KernelId::new(0), &[], at(begin + 3), at(begin + 3 + product));
        observer.timed(KernelId::new(1), &[], at(begin + 5 + product), at(begin + 25 + product));
        observer.timed(KernelId::new(2), &[], at(begin + 30 + product), at(begin + 30 + product + last));
        let end = begin + 37 + product + last;
        observer.finished(Ok((at(begin), at(end))));
        observer.downloaded(&floats(8), at(end + 1), at(end + 18));
    }

    /// Records a warm-up run and 11 runs that count.
    fn recorded(&self, directory: &Path) -> Recording {
        let mut options = ProfilerOptions::default();
        options.switches.machine_memory = false;
        self.record(directory, &options, |profiler| {
            profiler.set_run_kind(RunKind::WarmUp);
            self.run(profiler, 100);
            profiler.set_run_kind(RunKind::Measured);
            (0..11).for_each(|run| self.run(profiler, run));
        })
    }
}
