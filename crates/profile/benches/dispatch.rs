//! What does a profiled dispatch cost, and what a range that the user's code marks?
//!
//! Runs of twelve dispatches, the size of the smallest models, are driven as an engine drives them: two readings of the
//! clock around every dispatch, the observer's call, and the observer made and finished once a run. Every dispatch
//! computes for about a microsecond, as the smallest kernels do. The profiler has everything switched on that
//! `--profiler` switches on, and writes to a real directory while the runs go on. The same runs without clock and
//! profiler are taken away; both are measured in one process, round after round in turn. The floor is what two readings
//! of the clock cost. Ranges are around the same computation, on the same thread, while the same profiler records. A line of
//! JSON for each.

use std::hint::black_box;
use std::sync::Arc;

use opscope_clock::{Calibration, ClockPair, Ticks};
use opscope_model::testing::{GraphBuilder, kernels};
use opscope_model::{Fidelity, Instrument, Kernel, RunId, RunInfo, RunObserver};
use opscope_onnx::Graph;
use opscope_profile::{EngineInfo, Profiler, ProfilerOptions, RecordingInfo};
use opscope_trace::{intern, range_named};
use serde_json::json;

const DISPATCHES: u32 = 12;
const RUNS_PER_ROUND: u64 = 500;
const ROUNDS: usize = 201;
/// Steps of a dispatch's computation: about a microsecond.
const STEPS: u32 = 1_100;
/// The whole cost of a dispatch, both readings of the clock included.
const GOAL_NS: f64 = 80.0;

fn main() {
    let directory = tempfile::tempdir().expect("a directory");
    let (graph, kernels) = model();
    let info = RecordingInfo { graph: Arc::clone(&graph), engine: EngineInfo::new("loop", "1", Fidelity::Optimised) };
    let start = ClockPair::now();
    let recording = directory.path().join("recording");
    let profiler = Profiler::create(&recording, &info, &ProfilerOptions::default()).expect("a new directory");
    let mut run = 0;
    let (mut with, mut without, mut ranges, mut clock) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let name = intern("a range");
    let round = |rounds: &mut Vec<(Ticks, Ticks)>, body: &mut dyn FnMut()| {
        let begin = Ticks::now();
        (0..RUNS_PER_ROUND).for_each(|_| body());
        rounds.push((begin, Ticks::now()));
    };
    for _ in 0..ROUNDS {
        round(&mut with, &mut || {
            let info = RunInfo { id: RunId(run), graph: &graph, kernels: &kernels, fidelity: Fidelity::Optimised };
            profiled(&profiler, &info);
            run += 1;
        });
        round(&mut without, &mut || kernels.iter().for_each(compute));
        round(&mut ranges, &mut || {
            kernels.iter().for_each(|kernel| {
                let _range = range_named(name);
                compute(kernel);
            });
        });
        round(&mut clock, &mut || {
            kernels.iter().for_each(|_| {
                black_box((Ticks::now(), Ticks::now()));
            });
        });
    }
    let manifest = profiler.finish().expect("a manifest");
    let records = manifest.records.expect("it is closed");
    let calibration = Calibration::since(start);
    let dispatches = RUNS_PER_ROUND as f64 * f64::from(DISPATCHES);
    let nanos = |rounds: &[(Ticks, Ticks)]| -> Vec<f64> {
        rounds.iter().map(|&(start, end)| calibration.nanos(start, end) / dispatches).collect()
    };
    let cost_of = |rounds: &[(Ticks, Ticks)]| -> Vec<f64> {
        nanos(rounds).iter().zip(nanos(&without)).map(|(with, without)| with - without).collect()
    };
    let (kernel, floor) = (median(nanos(&without)), median(nanos(&clock)));
    let dispatch = median(cost_of(&with));
    for (case, costs, peer, peer_cost) in [
        ("profiled dispatch", cost_of(&with), "the dispatch itself", kernel),
        ("range of the user's code", cost_of(&ranges), "a profiled dispatch", dispatch),
    ] {
        let highest = upper_end(costs.clone());
        let cost = median(costs);
        let line = json!({
            "bench": "run",
            "case": case,
            "value": cost,
            "unit": "ns",
            "peer": peer,
            "peer_value": peer_cost,
            "floor": floor,
            "goal": GOAL_NS,
            "met": manifest.complete && highest <= GOAL_NS,
            "emitted": records.emitted,
            "delivered": records.delivered,
            "stalls": records.stalls,
            "longest_stall_ns": records.longest_stall_ns,
        });
        println!("{line}");
    }
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

/// Returns the upper end of the 95 % confidence interval of the median: about two deviations of a binomial distribution
/// above it.
fn upper_end(mut nanos: Vec<f64>) -> f64 {
    nanos.sort_by(f64::total_cmp);
    let count = nanos.len() as f64;
    nanos[(count / 2.0 + count.sqrt()).ceil() as usize]
}

fn median(mut nanos: Vec<f64>) -> f64 {
    nanos.sort_by(f64::total_cmp);
    nanos[nanos.len() / 2]
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
