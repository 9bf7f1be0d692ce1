//! Data about operators in addition to their times: their work, their layers, and the distribution of their times and
//! memory.

mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::testing::{GraphBuilder, kernels};
use opscope_model::{Fidelity, Instrument, Kernel, KernelId, RunId, RunInfo};
use opscope_onnx::Graph;
use opscope_profile::{Account, EngineInfo, Profiler, ProfilerOptions, Recording, RecordingInfo, RunKind};
use opscope_roofline::{Bandwidth, ComputePeak, Limit, Roofline};
use opscope_tensor::DType;
use support::{Paper, open};

/// Two layers: a matrix product of [8, 4] and [4, 4] with a Relu fused into it, an addition, and an operator of an
/// unknown type.
struct Layers {
    graph: Arc<Graph>,
    kernels: Arc<[Kernel]>,
}

impl Layers {
    fn new() -> Self {
        let graph = GraphBuilder::new("layers")
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

    /// Records runs whose product takes 1, 2, 3 ... 100 parts of time, and whose other operators take 10 each.
    fn record(&self, directory: &Path) {
        let info = RecordingInfo {
            graph: Arc::clone(&self.graph),
            engine: EngineInfo::new("paper", "1", Fidelity::Optimised),
        };
        let profiler = Profiler::create(directory, &info, &ProfilerOptions::default()).expect("a new directory");
        for run in 1..=100 {
            self.run(&profiler, run);
        }
        profiler.finish().expect("a manifest");
    }

    fn run(&self, profiler: &Profiler, run: u64) {
        let info =
            RunInfo { id: RunId(run), graph: &self.graph, kernels: &self.kernels, fidelity: Fidelity::Optimised };
        let observer = profiler.observe(&info);
        let begin = Ticks::now().as_raw();
        let at = |parts: u64| Ticks::from_raw(begin + 10_000 * parts);
        for (kernel, (start, end)) in [(0, run), (run, run + 10), (run + 10, run + 20)].into_iter().enumerate() {
            observer.timed(KernelId::new(kernel as u32), &[], at(start), at(end));
        }
        observer.finished(Ok((at(0), at(run + 20))));
    }
}

fn recorded() -> (tempfile::TempDir, Recording) {
    let root = tempfile::tempdir().expect("a directory");
    let directory = root.path().join("recording");
    Layers::new().record(&directory);
    let recording = open(&directory);
    (root, recording)
}

fn row<'a>(account: &'a Account, operator: &str) -> &'a opscope_profile::OperatorTimes {
    account.operators.iter().find(|row| row.operator.ends_with(operator)).expect("it was executed")
}

#[test]
fn an_operator_has_the_work_of_what_is_fused_into_it_and_its_rates_at_the_median() {
    let (_root, recording) = recorded();
    let account = recording.account().expect("an account");
    let product = row(&account, "MatMul");
    let work = product.work.as_ref().expect("it was recorded");
    // 8 x 4 elements of 4 products each, and 32 times Relu.
    assert_eq!(work.flops, Some(f64::from(8 * 4 * 4 * 2 + 32)));
    assert_eq!((work.bytes_read, work.bytes_written), (Some(f64::from((32 + 16) * 4)), Some(f64::from(32 * 4))));
    assert_eq!(work.dtype, Some(DType::F32));
    let rate = work.gflops_per_s.expect("it is known");
    assert!((rate * product.median_ns / 288.0 - 1.0).abs() < 1e-9, "{rate}");
    let unknown = row(&account, "last").work.as_ref().expect("its bytes are known");
    assert_eq!((unknown.flops, unknown.gflops_per_s, unknown.bytes()), (None, None, Some(256.0)));
    assert!(account.to_text(5).contains("The operations of 1 operator are not known."), "{}", account.to_text(5));
}

#[test]
fn an_operator_is_compared_with_the_limit_that_applies_to_it() {
    let (_root, recording) = recorded();
    let mut account = recording.account().expect("an account");
    let machine = Roofline {
        processor: "paper".to_owned(),
        threads: 1,
        peaks: vec![ComputePeak { dtype: "float32".to_owned(), gflops_per_s: 0.001 }],
        bandwidths: vec![Bandwidth { bytes: 1, gbytes_per_s: 0.01 }],
    };
    account.compare_with(machine.clone());
    assert_eq!(account.roofline, Some(machine));
    let product = row(&account, "MatMul");
    let bound = product.work.as_ref().and_then(|work| work.bound).expect("both limits are known");
    // 288 operations at 0.001 per nanosecond take longer than 320 bytes at 0.01.
    assert_eq!((bound.limited_by, bound.least_ns), (Limit::Compute, 288_000.0));
    assert!((bound.percent * product.median_ns / 28_800_000.0 - 1.0).abs() < 1e-9, "{bound:?}");
    let moved = row(&account, "Add").work.as_ref().and_then(|work| work.bound).expect("both limits are known");
    // Both operands are the same 128 bytes.
    assert_eq!((moved.limited_by, moved.least_ns), (Limit::Compute, 32_000.0));
    assert_eq!(row(&account, "last").work.as_ref().and_then(|work| work.bound), None);
}

#[test]
fn layers_at_every_depth_have_the_time_and_the_work_of_their_operators() {
    let (_root, recording) = recorded();
    let account = recording.account().expect("an account");
    let sum: f64 = account.operators.iter().map(|row| row.total_ns).sum();
    for depth in 0..4 {
        let layers = account.layers_at(depth);
        let total: f64 = layers.iter().map(|layer| layer.total_ns).sum();
        assert!((total / sum - 1.0).abs() < 1e-9, "depth {depth}: {total} of {sum}");
    }
    let paths =
        |depth| account.layers_at(depth).into_iter().map(|layer| (layer.path, layer.operators)).collect::<Vec<_>>();
    let named =
        |layers: &[(&str, u64)]| layers.iter().map(|(path, count)| ((*path).to_owned(), *count)).collect::<Vec<_>>();
    assert_eq!(paths(0), named(&[("", 3)]));
    assert_eq!(paths(1), named(&[("/encoder", 2), ("", 1)]));
    let deepest = account.layers_at(2);
    assert_eq!((deepest[0].path.as_str(), deepest[0].flops), ("/encoder/layer.0", 288.0));
    let tree = account.layers();
    assert_eq!((tree.operators, tree.unknown_flops, tree.flops), (3, 1, 320.0));
    assert_eq!((tree.gflops_per_s, tree.layers[0].path.as_str()), (None, "/encoder"));
    assert_eq!(tree.layers[0].layers[0], deepest[0]);
}

#[test]
fn percentiles_and_histograms_are_those_of_the_runs() {
    let (_root, recording) = recorded();
    let distribution = recording.distributions().expect("an account");
    let place = distribution.account.operators.iter().position(|row| row.operator.ends_with("MatMul")).unwrap();
    let product = &distribution.account.operators[place];
    // The times are 1 to 100 parts, so a percentile is a number of parts, and the median is between two of them.
    let part = product.total_ns / 5_050.0;
    for (found, parts) in [(product.median_ns, 50.5), (product.p90_ns, 90.0), (product.p99_ns, 99.0)] {
        assert!((found / part / parts - 1.0).abs() < 0.01, "{found} is not {parts} times {part}");
    }
    let histogram = &distribution.operators[place];
    assert_eq!(histogram.counts.iter().sum::<u64>(), 100);
    assert!(histogram.bounds_ns[0] <= part && *histogram.bounds_ns.last().unwrap() > 100.0 * part, "{histogram:?}");
}

#[test]
fn an_older_recording_without_costs_has_its_times_and_no_work() {
    let root = tempfile::tempdir().expect("a directory");
    let directory = root.path().join("recording");
    Layers::new().record(&directory);
    let names = directory.join("names.jsonl");
    let lines = fs::read_to_string(&names).expect("a file");
    let without = lines.lines().map(|line| {
        let mut line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        for kernel in line.get_mut("kernels").and_then(|kernels| kernels.as_array_mut()).into_iter().flatten() {
            assert!(kernel.as_object_mut().expect("an object").remove("cost").is_some(), "{kernel}");
        }
        format!("{line}\n")
    });
    fs::write(&names, without.collect::<String>()).expect("the disk has room");
    let recording = open(&directory);
    assert!(recording.is_complete());
    let account = recording.account().expect("an account");
    assert_eq!((account.operators.len(), row(&account, "MatMul").work.clone()), (3, None));
    assert!(!account.to_text(5).contains("Work of operators"), "{}", account.to_text(5));
}

#[test]
fn memory_over_time_is_that_of_the_inputs_and_of_the_operators_in_turn() {
    let (root, paper) = (tempfile::tempdir().expect("a directory"), Paper::new());
    let directory = root.path().join("recording");
    let mut options = ProfilerOptions::default();
    options.switches.tensor_memory = true;
    let profiler = paper.profiler(&directory, &options);
    (0..3).for_each(|run| paper.run(&profiler, run));
    profiler.finish().expect("a manifest");
    let recording = open(&directory);
    let memory = recording.memory_over_time().expect("records").expect("they were recorded");
    let peak = recording.account().expect("an account").tensor_memory.expect("it was recorded").peak_bytes;
    assert_eq!((memory.run, memory.peak_bytes), (0, peak));
    assert_eq!(memory.points.iter().map(|point| point.bytes).max(), Some(peak));
    assert_eq!(memory.points.last().map(|point| point.bytes), Some(0), "everything is released");
    assert!(memory.points.is_sorted_by(|a, b| a.ns <= b.ns), "{:?}", memory.points);
    let at_peak: u64 = memory.operators.iter().map(|row| row.bytes_at_peak).sum();
    assert_eq!(at_peak, peak);
    let rows: Vec<_> = memory.operators.iter().map(|row| (row.operator.as_deref(), row.allocated_bytes)).collect();
    // The output of each has 2 x 3 numbers.
    assert_eq!(rows, [(None, 24), (Some("a"), 24), (Some("b"), 24)]);
}

#[test]
fn memory_over_time_is_that_of_a_measured_run_if_there_is_one() {
    for (kinds, shown) in [
        (&[RunKind::WarmUp, RunKind::Measured, RunKind::Measured][..], 1),
        (&[RunKind::Measured, RunKind::WarmUp], 0),
        (&[RunKind::WarmUp, RunKind::WarmUp], 0),
    ] {
        let (root, paper) = (tempfile::tempdir().expect("a directory"), Paper::new());
        let directory = root.path().join("recording");
        let mut options = ProfilerOptions::default();
        options.switches.tensor_memory = true;
        let profiler = paper.profiler(&directory, &options);
        for (run, kind) in kinds.iter().enumerate() {
            profiler.set_run_kind(*kind);
            paper.run(&profiler, run as u64);
        }
        profiler.finish().expect("a manifest");
        let memory = open(&directory).memory_over_time().expect("records").expect("they were recorded");
        assert_eq!(memory.run, shown, "{kinds:?}");
    }
}

#[test]
fn without_records_of_memory_there_is_no_memory_over_time() {
    let (_root, recording) = recorded();
    assert_eq!(recording.memory_over_time().expect("records"), None);
}
