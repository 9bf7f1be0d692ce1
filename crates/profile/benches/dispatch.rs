//! Measures the cost of a profiled dispatch, and of a range that the user's code marks.
//!
//! Runs of twelve dispatches, the size of the smallest models, are driven as an engine drives them: two readings of the
//! clock and a call of the observer for every dispatch, and an observer that is made and finished once per run. Every
//! dispatch computes for about a microsecond, as the smallest kernels do. The profiler has everything switched on that
//! `--profiler` switches on, and writes to a real directory at the same time. The cost of the same runs without clock
//! and profiler is subtracted. Both are measured in one process, in turns. The floor is what two readings of the clock
//! cost. Ranges are around the same computation, on the same thread, while the same profiler records.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use opscope_bench::{Case, Contender, Goal, Rounds, finish};
use opscope_clock::Ticks;
use opscope_model::testing::{GraphBuilder, kernels};
use opscope_model::{Fidelity, Instrument, Kernel, RunId, RunInfo, RunObserver};
use opscope_onnx::Graph;
use opscope_profile::{EngineInfo, Profiler, ProfilerOptions, RecordingInfo};
use opscope_trace::{intern, range_named};

const DISPATCHES: u32 = 12;
const RUNS_PER_ROUND: u64 = 500;
const ROUNDS: usize = 201;
/// The steps of a dispatch's computation, which take about a microsecond.
const STEPS: u32 = 1_100;
/// The total cost of a dispatch, including both clock readings.
const GOAL_NS: f64 = 80.0;

/// The contenders.
const WITHOUT: usize = 0;
const WITH: usize = 1;
const RANGES: usize = 2;
const CLOCK: usize = 3;

fn main() -> ExitCode {
    let directory = tempfile::tempdir().expect("a directory");
    let (graph, kernels) = model();
    let info = RecordingInfo { graph: Arc::clone(&graph), engine: EngineInfo::new("loop", "1", Fidelity::Optimised) };
    let recording = directory.path().join("recording");
    let profiler = Profiler::create(&recording, &info, &ProfilerOptions::default()).expect("a new directory");
    let mut run = 0;
    let name = intern("a range");
    let round = |body: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..RUNS_PER_ROUND).for_each(|_| body());
        start.elapsed().as_nanos() as f64 / (RUNS_PER_ROUND as f64 * f64::from(DISPATCHES))
    };
    let goal = Goal::AtMost(GOAL_NS);
    let mut rounds = Rounds::new(
        ROUNDS,
        [
            Contender::new("the dispatch itself", || round(&mut || kernels.iter().for_each(compute))),
            Contender::new("with the profiler", || {
                round(&mut || {
                    let info =
                        RunInfo { id: RunId(run), graph: &graph, kernels: &kernels, fidelity: Fidelity::Optimised };
                    profiled(&profiler, &info);
                    run += 1;
                })
            }),
            Contender::new("in a range", || {
                round(&mut || {
                    kernels.iter().for_each(|kernel| {
                        let _range = range_named(name);
                        compute(kernel);
                    });
                })
            }),
            Contender::new("two readings of the clock", || {
                round(&mut || {
                    kernels.iter().for_each(|_| {
                        black_box((Ticks::now(), Ticks::now()));
                    });
                })
            }),
        ],
    );
    for (case, ours) in [("profiled dispatch", WITH), ("range of the user's code", RANGES)] {
        let judged = rounds.decide_difference(goal, ours, WITHOUT, 1.0);
        let (case, peer) = (case.to_owned(), ("the dispatch itself, ns", rounds.cost(WITHOUT).value));
        Case { bench: "run", case, judged, unit: "ns", peer, floor: Some(rounds.cost(CLOCK).value), goal }.print();
    }
    drop(rounds);
    assert!(profiler.finish().expect("a manifest").complete, "no record is lost");
    finish()
}

fn profiled(profiler: &Profiler, info: &RunInfo<'_>) {
    let observer: Box<dyn RunObserver> = profiler.observe(info);
    let observer = black_box(&observer);
    let begin = Ticks::now();
    for kernel in info.kernels.iter() {
        let start = Ticks::now();
        compute(kernel);
        observer.timed(kernel.id, &[], start, Ticks::now());
    }
    observer.finished(Ok((begin, Ticks::now())));
}

fn compute(kernel: &Kernel) {
    let seed = black_box(kernel.id.index() as u64);
    black_box(
        (0..STEPS).fold(seed, |state, _| black_box(state).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1)),
    );
}

fn model() -> (Arc<Graph>, Arc<[Kernel]>) {
    let names: Vec<String> = (0..DISPATCHES).map(|index| format!("operator_{index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let builder =
        names.iter().fold(GraphBuilder::new("loop"), |builder, name| builder.operator(name, "Relu", &[], &[]));
    let graph = builder.build();
    let groups: Vec<_> = names.iter().map(std::slice::from_ref).collect();
    let kernels = kernels(&graph, &groups);
    (Arc::new(graph), kernels)
}
