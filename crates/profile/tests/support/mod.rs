//! A plan of two kernels, its profiler, and the counts of its recordings.

#![allow(dead_code, reason = "each test file uses its share")]

use std::path::Path;
use std::sync::Arc;

use opscope_model::Fidelity;
use opscope_model::testing::{FakePlan, GraphBuilder, kernels};
use opscope_profile::{EngineInfo, Profiler, ProfilerOptions, Recording, RecordingInfo};
use opscope_tensor::Tensor;

pub struct Paper {
    plan: FakePlan,
}

impl Paper {
    /// Makes a plan whose kernels return copies of their inputs, 24 bytes each.
    pub fn new() -> Self {
        let graph = GraphBuilder::new("paper")
            .input("x", &[2, 3])
            .operator("a", "MatMul", &["x"], &["between"])
            .operator("b", "Relu", &["between"], &["y"])
            .output("y")
            .build();
        let kernels = kernels(&graph, &[&["a"], &["b"]]);
        Self {
            plan: FakePlan::new(&Arc::new(graph), kernels, Fidelity::Optimised, |_, inputs| {
                Ok(inputs.iter().map(copy).collect())
            }),
        }
    }

    /// Returns another plan of the same graph.
    pub fn other_plan(&self) -> Self {
        let kernels = self.plan.kernels.iter().cloned().collect();
        Self { plan: self.plan.clone().with_kernels(kernels) }
    }

    pub fn recording_info(&self) -> RecordingInfo {
        RecordingInfo {
            graph: Arc::clone(&self.plan.graph),
            engine: EngineInfo::new("paper", "1", Fidelity::Optimised),
        }
    }

    pub fn profiler(&self, directory: &Path, options: &ProfilerOptions) -> Profiler {
        Profiler::create(directory, &self.recording_info(), options).expect("a new directory")
    }

    /// Runs once, with a correlation id.
    pub fn run(&self, profiler: &Profiler, run: u64) {
        let _correlated = opscope_trace::correlate();
        self.plan.run_with(profiler, run).expect("no kernel fails");
    }

    /// Runs once and fails in the second kernel.
    pub fn fail(&self, profiler: &Profiler, run: u64) {
        self.plan.clone().fail_at(1).run_with(profiler, run).expect_err("the second kernel fails");
    }
}

fn copy(tensor: &Tensor) -> Tensor {
    Tensor::new(tensor.dtype(), tensor.shape().to_vec(), tensor.bytes().to_vec()).expect("it is one")
}

pub fn open(directory: &Path) -> Recording {
    Recording::open(directory).expect("a recording")
}

/// Returns the numbers of runs and dispatches in a recording.
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
