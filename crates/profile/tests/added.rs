//! Engines that add kernels of their own, take their times from a profile of their own, or lose some of them.

mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::testing::{GraphBuilder, added_kernel, kernel};
use opscope_model::{Fidelity, Instrument, Kernel, KernelId, RunId, RunInfo};
use opscope_onnx::Graph;
use opscope_profile::{Account, EngineInfo, Format, Profiler, ProfilerOptions, Recording, RecordingInfo};
use support::open;

/// A plan of two operators with a conversion between them, which is called like one of them and its type.
struct Converting {
    graph: Arc<Graph>,
    kernels: Arc<[Kernel]>,
}

impl Converting {
    fn new() -> Self {
        let graph = GraphBuilder::new("converting")
            .input("x", &[2])
            .operator("a", "Conv", &["x"], &["b"])
            .operator("c", "Relu", &["b"], &["y"])
            .output("y")
            .build();
        let kernels = Arc::new([kernel(&graph, 0, &["a"]), added_kernel(1, "c", "Relu"), kernel(&graph, 2, &["c"])]);
        Self { graph: Arc::new(graph), kernels }
    }

    fn profiler(&self, directory: &Path) -> Profiler {
        let info = RecordingInfo {
            graph: Arc::clone(&self.graph),
            engine: EngineInfo { time_resolution_ns: 1000, ..EngineInfo::new("coarse", "1", Fidelity::Optimised) },
        };
        Profiler::create(directory, &info, &ProfilerOptions::default()).expect("a new directory")
    }

    /// Reports a run of 100 parts of time: three kernels from 10 to 90, of which the last one takes 10 parts. After it the
    /// engine works on its profile for 50 parts.
    fn run(&self, profiler: &Profiler, run: u64, untimed: u64) {
        let info =
            RunInfo { id: RunId(run), graph: &self.graph, kernels: &self.kernels, fidelity: Fidelity::Optimised };
        let observer = profiler.observe(&info);
        let begin = Ticks::now().as_raw();
        let at = |parts: u64| Ticks::from_raw(begin + 100_000 * parts);
        for (kernel, (start, end)) in [(10, 40), (40, 70), (80, 90)].into_iter().enumerate().skip(untimed as usize) {
            observer.timed(KernelId::new(kernel as u32), &[], at(start), at(end));
        }
        if untimed > 0 {
            observer.untimed(untimed);
        }
        observer.profiled(at(100), at(150));
        observer.finished(Ok((at(0), at(100))));
    }
}

fn profiled(directory: &Path, untimed: u64) -> Recording {
    let plan = Converting::new();
    let profiler = plan.profiler(directory);
    plan.run(&profiler, 0, 0);
    plan.run(&profiler, 1, untimed);
    profiler.finish().expect("a manifest");
    open(directory)
}

fn account(recording: &Recording) -> Account {
    recording.account().expect("an account")
}

#[test]
fn kernels_that_an_engine_adds_have_a_share_and_rows_of_their_own() {
    let root = tempfile::tempdir().expect("a directory");
    let account = account(&profiled(&root.path().join("recording"), 0));
    let shares = account.shares.expect("dispatches were recorded");
    let parts = [shares.operators, shares.added, shares.between, shares.in_out].map(|share| share.percent.round());
    assert_eq!(parts, [40.0, 30.0, 10.0, 20.0]);
    let rows: Vec<_> =
        account.operators.iter().map(|row| (&*row.operator, &*row.op_type, row.added, row.percent.round())).collect();
    assert_eq!(rows.len(), 3);
    assert!(rows.contains(&("c", "Relu", false, 10.0)) && rows.contains(&("c", "Relu", true, 30.0)), "{rows:?}");
    let types: Vec<_> = account.op_types.iter().map(|row| (&*row.op_type, row.added, row.operators)).collect();
    assert!(types.contains(&("Relu", false, 1)) && types.contains(&("Relu", true, 0)), "{types:?}");
    let text = account.to_text(10);
    assert!(text.contains("added by the engine") && text.contains("c (engine)"), "{text}");
}

#[test]
fn exports_call_an_added_kernel_by_the_engines_name_and_no_operator() {
    let root = tempfile::tempdir().expect("a directory");
    let recording = profiled(&root.path().join("recording"), 0);
    for format in Format::ALL {
        recording.export(format, root.path()).expect("an export");
    }
    let read = |name: &str| fs::read_to_string(root.path().join(name)).expect("an export");
    let events: serde_json::Value = serde_json::from_str(&read("timeline.json")).expect("JSON");
    let added: Vec<_> =
        events.as_array().expect("an array").iter().filter(|event| event["args"]["attribution"] == "none").collect();
    assert_eq!(added.len(), 2, "one in each run");
    assert!(added.iter().all(|event| event["name"] == "c" && event["args"]["kernel_op"] == "Relu"));
    assert!(added.iter().all(|event| event["args"].get("operator").is_none()), "{added:?}");
    let summary = read("op_summary.csv");
    assert_eq!(summary.lines().filter(|row| row.ends_with(",none")).count(), 2, "{summary}");
    let statistic = read("op_statistic.csv");
    let relu: Vec<_> = statistic.lines().filter(|row| row.contains(",Relu,")).collect();
    assert_eq!(relu.len(), 2, "{statistic}");
    assert!(relu[0].ends_with(",yes") && relu[1].ends_with(",no"), "by time: {relu:?}");
}

#[test]
fn dispatches_that_an_engine_has_not_timed_count_as_drops() {
    let root = tempfile::tempdir().expect("a directory");
    let recording = profiled(&root.path().join("recording"), 2);
    assert_eq!(recording.problems(), ["the engine lost the times of 2 dispatches"]);
    let counts = recording.manifest().records.clone().expect("it was closed");
    assert_eq!((counts.dropped, counts.emitted), (2, counts.delivered + 2));
    let runs = account(&recording).runs;
    assert_eq!((runs.measured, runs.partial), (1, 1), "the run that lacks dispatches is not accounted for");
}

#[test]
fn what_an_engines_own_profile_costs_and_how_fine_it_is_are_stated() {
    let root = tempfile::tempdir().expect("a directory");
    let recording = profiled(&root.path().join("recording"), 0);
    assert_eq!(recording.manifest().engine.time_resolution_ns, 1_000);
    let account = account(&recording);
    let profile = account.engine_profile.expect("the engine reported its work");
    assert_eq!(profile.count, 2);
    assert!((profile.mean_ns / account.run.mean_ns - 0.5).abs() < 0.01, "{profile:?}");
    let text = account.to_text(10);
    assert!(text.contains("have a resolution of 1 µs") && text.contains("by the engine, beside runs"), "{text}");
    assert!(text.lines().filter(|line| line.starts_with("operators ")).all(|line| !line.contains(" ns")), "{text}");
}
