//! Engines that add their own kernels, take times from their own profile, or lose some times.

mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::testing::{GraphBuilder, added_kernel, kernel};
use opscope_model::{Fidelity, Instrument, Kernel, KernelId, RunId, RunInfo, RunObserver};
use opscope_onnx::Graph;
use opscope_profile::{Account, EngineInfo, Format, Profiler, ProfilerOptions, Recording, RecordingInfo, RunKind};
use support::open;

/// A plan of two operators with a conversion between them, which has the name and type of one of them.
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

    /// Reports a run of 100 parts of time: three kernels from 10 to 90, the last of which takes 10 parts. After the run
    /// the engine works on its profile for 50 parts.
    fn run(&self, profiler: &Profiler, run: u64, untimed: u64) {
        self.run_with(profiler, run, untimed, [(10, 40), (40, 70), (80, 90)]);
    }

    /// As `run`, with the kernels at these times.
    fn run_with(&self, profiler: &Profiler, run: u64, untimed: u64, times: [(u64, u64); 3]) {
        let observer = self.observe(profiler, run);
        let begin = Ticks::now().as_raw();
        let at = |parts: u64| Ticks::from_raw(begin + 100_000 * parts);
        for (kernel, (start, end)) in times.into_iter().enumerate().skip(untimed as usize) {
            observer.timed(KernelId::new(kernel as u32), &[], at(start), at(end));
        }
        if untimed > 0 {
            observer.untimed(untimed);
        }
        observer.profiled(at(100), at(150));
        observer.finished(Ok((at(0), at(100))));
    }

    /// Reports a run of this many parts without times of its dispatches.
    fn run_untimed(&self, profiler: &Profiler, run: u64, parts: u64) {
        profiler.set_run_kind(RunKind::Untimed);
        let observer = self.observe(profiler, run);
        assert!(!observer.interest().times, "times would cost what is to be seen");
        let begin = Ticks::now();
        observer.finished(Ok((begin, Ticks::from_raw(begin.as_raw() + 100_000 * parts))));
    }

    fn observe<'a>(&'a self, profiler: &'a Profiler, run: u64) -> Box<dyn RunObserver + 'a> {
        let info =
            RunInfo { id: RunId(run), graph: &self.graph, kernels: &self.kernels, fidelity: Fidelity::Optimised };
        profiler.observe(&info)
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

/// The conversion begins during the previous operator, so 20 parts of time are in two parts of the account.
#[test]
fn times_that_are_in_two_parts_of_a_run_are_a_rest_below_zero_and_the_text_says_so() {
    let root = tempfile::tempdir().expect("a directory");
    let of = |name: &str, times: [(u64, u64); 3]| {
        let (plan, directory) = (Converting::new(), root.path().join(name));
        let profiler = plan.profiler(&directory);
        plan.run_with(&profiler, 0, 0, times);
        profiler.finish().expect("a manifest");
        account(&open(&directory))
    };
    let overlapping = of("overlapping", [(10, 60), (40, 70), (80, 90)]);
    let shares = overlapping.shares.expect("there are times");
    let parts = [shares.operators, shares.added, shares.between, shares.in_out, shares.rest];
    assert_eq!(parts.map(|share| share.percent.round()), [60.0, 30.0, 10.0, 20.0, -20.0]);
    let text = overlapping.to_text(10);
    assert!(text.contains("rest") && text.contains("The parts miss the whole by -20.0 %"), "{text}");
    let text = of("apart", [(10, 40), (40, 70), (80, 90)]).to_text(10);
    assert!(!text.contains("rest") && !text.contains("miss the whole"), "{text}");
}

#[test]
fn what_taking_times_adds_to_a_run_is_a_share_of_its_own() {
    let root = tempfile::tempdir().expect("a directory");
    // The runs with times take 100 parts, 10 of which are between kernels.
    for (untimed, [profile, between]) in [(94, [6.0, 4.0]), (60, [10.0, 0.0]), (120, [0.0, 10.0])] {
        let (plan, directory) = (Converting::new(), root.path().join(untimed.to_string()));
        let profiler = plan.profiler(&directory);
        (0..3).for_each(|run| plan.run(&profiler, run, 0));
        (3..6).for_each(|run| plan.run_untimed(&profiler, run, untimed));
        profiler.finish().expect("a manifest");
        let account = account(&open(&directory));
        assert_eq!((account.runs.measured, account.runs.partial), (3, 0), "runs without times do not count");
        let (runs, shares) = (account.untimed.expect("there are some"), account.shares.expect("there are times"));
        assert_eq!(runs.count, 3);
        let parts = [shares.profile, shares.between, shares.operators, shares.added, shares.in_out];
        assert_eq!(parts.map(|share| share.percent.round()), [profile, between, 40.0, 30.0, 20.0], "{untimed}");
        let text = account.to_text(10);
        assert!(text.contains("engine's profile") && text.contains("3 runs without: "), "{text}");
    }
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
