//! The facts that are read from a run, found by hand.

use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::testing::{GraphBuilder, kernels};
use opscope_model::{Fidelity, Instrument, RunId, RunInfo};
use opscope_profile::{EngineInfo, Profiler, ProfilerOptions, RecordingInfo, RunCounts};
use opscope_tensor::Digest;
use serde_json::json;

use super::*;

fn summary(more: serde_json::Value) -> Summary {
    let mut summary = json!({
        "opscope": "opscope 0.1.0", "again": ["--input=x=a/1.npy,y=b.npy", "--engine", "tract", "--input=c.npy"],
        "model": { "path": "models/made.onnx", "xxh3": "00000000deadbeef", "graph": "made", "operators": 2 },
        "engine": { "name": "paper", "version": "1", "fidelity": "optimised", "threads": 1, "concurrent_runs": 1 },
        "machine": { "cpu": "abacus", "processors": 2, "memory_bytes": 1024, "system": "linux 0" },
        "load_ms": 1.0, "peak_memory_bytes": 4096, "complete": true, "npu_compute_time_list": [1.0, 3.0, 2.0],
        "NPU_compute_time": { "max": 3.0, "median": 2.0, "P90": 2.8, "P99": 2.98, "count": 3 },
        "median_interval_95": [1.5, 2.5], "notes": ["of the summary"],
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        summary[name] = value.clone();
    }
    serde_json::from_value(summary).expect("a summary")
}

#[test]
fn a_summary_gives_its_own_times_in_nanoseconds() {
    let mut run = RunFacts::default();
    run.add_summary(summary(json!({})));
    let latency = run.latency.as_ref().expect("it has times");
    assert_eq!((latency.runs, latency.min, latency.max), (3, 1e6, 3e6));
    assert_eq!((latency.median, latency.p90, latency.p99), (2e6, 2.8e6, 2.98e6));
    assert_eq!((latency.interval, latency.is_recorded), (Some((1.5e6, 2.5e6)), false));
    let numbers: Vec<u64> = latency.steps.iter().map(|step| step.first).collect();
    assert_eq!(numbers, [0, 1, 2]);
    assert_eq!((run.problems.len(), &run.notes[..]), (0, &["of the summary".to_owned()][..]));
    assert_eq!(run.model.as_deref(), Some("models/made.onnx"));
    assert_eq!(run.model_hash, Some(Digest(0xdead_beef)));
    let files = ["a/1.npy", "b.npy", "c.npy"].map(PathBuf::from);
    assert_eq!(run.given_files(), files);
}

#[test]
fn what_a_recording_says_stays_and_a_dump_has_no_times() {
    let mut run = RunFacts { notes: vec!["of the recording".to_owned()], ..RunFacts::default() };
    run.model = Some("other.onnx".to_owned());
    run.latency = Some(Latency { runs: 9, ..Latency::default() });
    run.add_summary(summary(json!({ "complete": false })));
    assert_eq!(run.latency.as_ref().map(|latency| latency.runs), Some(9));
    assert_eq!(run.notes, ["of the recording"]);
    assert_eq!(run.model.as_deref(), Some("other.onnx"));
    assert_eq!(run.problems, ["summary: it says that it is incomplete"]);
    let mut dumped = RunFacts { dump: Some(DumpFacts::default()), ..RunFacts::default() };
    assert!(RunFacts::default().is_timed() && !dumped.is_timed());
    dumped.add_summary(summary(json!({ "complete": false, "incomplete_because": ["it was stopped"] })));
    assert_eq!((dumped.latency.is_none(), &dumped.problems[..]), (true, &["summary: it was stopped".to_owned()][..]));
    dumped.paths.recording = Some(PathBuf::from("r"));
    assert!(dumped.is_timed() && dumped.recording() == Some(&PathBuf::from("r")));
}

#[test]
fn the_median_is_the_accounts_if_it_counted_the_same_runs() {
    let mut account = made::account(RunCounts { measured: 3, ..RunCounts::default() }, Vec::new());
    account.run.median_ns = 7.0;
    let latency = |runs| Latency { runs, median: 1.0, ..Latency::default() };
    assert_eq!([2, 3, 4].map(|runs| exact(latency(runs), &account).median), [1.0, 7.0, 1.0]);
}

#[test]
fn operators_in_bodies_have_their_owners_in_words() {
    let mut run = RunFacts::default();
    run.bodies.insert("inner".to_owned(), vec!["outer".to_owned(), "loop".to_owned()]);
    run.bodies.insert("main".to_owned(), Vec::new());
    assert_eq!(run.body_of("inner").as_deref(), Some("in the body of outer / loop"));
    assert_eq!((run.body_of("main"), run.body_of("other")), (None, None));
}

/// The lengths of runs, in ticks. The third one is the median.
const LENGTHS: [u64; 5] = [1_000_000, 5_000_000, 3_000_000, 2_000_000, 4_000_000];

/// Records runs of two operators: one from a tenth of each run to four tenths, and one from six tenths to nine.
fn recorded(directory: &std::path::Path) {
    let graph = GraphBuilder::new("made").input("x", &[2]).operator("/a", "Add", &["x"], &["y"]);
    let graph = Arc::new(graph.operator("/b", "Mul", &["y"], &["z"]).output("z").build());
    let kernels = kernels(&graph, &[&["/a"], &["/b"]]);
    let engine = EngineInfo::new("paper", "1", Fidelity::Optimised);
    let info = RecordingInfo { graph: Arc::clone(&graph), engine };
    let profiler = Profiler::create(directory, &info, &ProfilerOptions::default()).expect("a new directory");
    let mut now = Ticks::now().as_raw();
    for (run, length) in (7..).zip(LENGTHS) {
        let info = RunInfo { id: RunId(run), graph: &graph, kernels: &kernels, fidelity: Fidelity::Optimised };
        let observer = profiler.observe(&info);
        let at = |tenths: u64| Ticks::from_raw(now + length / 10 * tenths);
        for (kernel, (start, end)) in kernels.iter().zip([(1, 4), (6, 9)]) {
            observer.timed(kernel.id, &[], at(start), at(end));
        }
        observer.finished(Ok((at(0), at(10))));
        now += length + 1_000;
    }
    profiler.finish().expect("a manifest");
}

#[test]
fn the_run_nearest_to_the_median_is_shown_in_full_with_the_gaps_between_its_operators() {
    let root = tempfile::tempdir().expect("a directory");
    let directory = root.path().join("recording");
    recorded(&directory);
    let paths = RunPaths { name: "r".to_owned(), recording: Some(directory), ..RunPaths::default() };
    let facts = RunFacts::read(&paths).expect("a recording");
    assert_eq!((facts.plans, facts.problems.len()), (1, 0));
    let timeline = facts.timeline.as_ref().expect("runs have dispatches");
    assert_eq!((timeline.run, timeline.dispatches, timeline.lanes.len()), (9, 2, 1));
    let part = |nanos: f64| (nanos / timeline.nanos * 1e5).round() / 1e5;
    let slots =
        timeline.lanes[0].slots.iter().map(|slot| (part(slot.start), part(slot.nanos), slot.what == SlotContent::Gap));
    assert_eq!(slots.collect::<Vec<_>>(), [(0.1, 0.3, false), (0.4, 0.2, true), (0.6, 0.3, false)]);
    assert_eq!((timeline.engine.0, part(timeline.engine.1)), (0.0, 1.0));
    let latency = facts.latency.as_ref().expect("there are runs");
    assert_eq!((latency.runs, latency.is_recorded), (5, true));
    let steps: Vec<(u64, u64)> = latency.steps.iter().map(|step| (step.first, step.last)).collect();
    assert_eq!(steps, [(7, 7), (8, 8), (9, 9), (10, 10), (11, 11)]);
    // The median is exact, and as long as the run that is shown.
    assert!((latency.median / timeline.nanos - 1.0).abs() < 1e-5, "{} and {}", latency.median, timeline.nanos);
    assert!((latency.max / latency.min - 5.0).abs() < 1e-4, "{} and {}", latency.max, latency.min);
    let shares: Vec<(&str, f64)> =
        facts.operators.rows.iter().map(|row| (row.name.as_str(), row.percent.round())).collect();
    assert_eq!((shares.len(), shares[0].1, shares[1].1), (2, 30.0, 30.0));
    assert!(facts.model_hash.is_some());
}
