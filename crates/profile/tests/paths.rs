//! Operators in the body of a loop that are profiled, written, read back and exported.

mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use opscope_model::testing::{FakePlan, GraphBuilder, kernels};
use opscope_model::{Fidelity, Iteration};
use opscope_onnx::OperatorId;
use opscope_profile::{EngineInfo, Fact, Format, Profiler, ProfilerOptions, Recording, RecordingInfo};
use opscope_tensor::Tensor;
use opscope_trace::Bytes;
use support::open;

/// Returns a plan of four kernels: `first`, `step` and `choice` in the body of `=loop`, and `choice` in that of `if`,
/// too.
fn looping(iterations: u32) -> FakePlan {
    let graph = GraphBuilder::new("looping")
        .input("x", &[2])
        .operator("first", "Relu", &["x"], &["a"])
        .operator("=loop", "Loop", &["a"], &["b"])
        .operator("if", "If", &["b"], &["c"])
        .operator("step", "Add", &["a"], &["d"])
        .operator("choice", "Neg", &["d"], &["e"])
        .operator("last", "Exp", &["a"], &["y"])
        .output("y")
        .build();
    let kernels = kernels(&graph, &[&["first"], &["step"], &["choice"], &["last"]]);
    let copy = |tensor: &Tensor| Tensor::new(tensor.dtype(), tensor.shape().to_vec(), tensor.bytes().to_vec());
    FakePlan::new(&Arc::new(graph), kernels, Fidelity::Optimised, move |_, inputs| {
        Ok(inputs.iter().map(|input| copy(input).expect("it is one")).collect())
    })
    .with_body(1..3, "=loop", iterations)
    .with_body(2..3, "if", 1)
}

fn profiled(directory: &Path, plan: &FakePlan, runs: u64, options: &ProfilerOptions) -> Recording {
    let info =
        RecordingInfo { graph: Arc::clone(&plan.graph), engine: EngineInfo::new("fake", "1", Fidelity::Optimised) };
    let profiler = Profiler::create(directory, &info, options).expect("a new directory");
    for run in 0..runs {
        plan.run_with(&profiler, run).expect("no kernel fails");
    }
    profiler.finish().expect("a manifest");
    open(directory)
}

/// Returns the kernel and the path of every dispatch, the path as operators and iterations.
fn dispatches(recording: &Recording) -> Vec<(u32, Vec<(usize, u32)>)> {
    let facts = recording.facts().expect("records").map(|fact| fact.expect("a record"));
    let dispatch = |fact| match fact {
        Fact::Dispatch(dispatch) => {
            let path = dispatch.path.iter().map(|Iteration { operator, index }| (operator.index(), *index));
            Some((dispatch.kernel, path.collect()))
        }
        _ => None,
    };
    facts.filter_map(dispatch).collect()
}

#[test]
fn every_iteration_of_a_loop_is_recorded_with_its_path() {
    let root = tempfile::tempdir().expect("a directory");
    let recording = profiled(&root.path().join("recording"), &looping(2), 2, &ProfilerOptions::default());
    assert_eq!(recording.problems(), [] as [String; 0]);
    let run = [
        (0, vec![]),
        (1, vec![(1, 0)]),
        (2, vec![(1, 0), (2, 0)]),
        (1, vec![(1, 1)]),
        (2, vec![(1, 1), (2, 0)]),
        (3, vec![]),
    ];
    assert_eq!(dispatches(&recording), [run.clone(), run].concat());
    assert_eq!(recording.operator(0, OperatorId::new(1)), Some("=loop"));
    assert_eq!(recording.operator(0, OperatorId::new(6)), None);

    let account = recording.account().expect("an account");
    assert_eq!((account.runs.measured, account.runs.partial), (2, 0), "however often the body was executed");
    let of_step = account.operators.iter().find(|row| row.operator == "step").expect("it was executed");
    assert_eq!(of_step.dispatches, 4);
}

#[test]
fn exports_show_the_path_of_a_dispatch_that_has_one() {
    let root = tempfile::tempdir().expect("a directory");
    let recording = profiled(&root.path().join("recording"), &looping(1), 1, &ProfilerOptions::default());
    for format in Format::ALL {
        recording.export(format, root.path()).expect("an export");
    }
    let events: serde_json::Value =
        serde_json::from_slice(&fs::read(root.path().join("timeline.json")).expect("a timeline")).expect("JSON");
    let operators = events.as_array().expect("an array").iter().filter(|event| event["cat"] == "operator");
    let paths: Vec<_> = operators.map(|event| (event["name"].clone(), event["args"]["path"].clone())).collect();
    assert_eq!(
        serde_json::json!(paths),
        serde_json::json!([["first", null], ["step", "=loop[0]"], ["choice", "=loop[0] > if[0]"], ["last", null],])
    );

    let table = fs::read_to_string(root.path().join("op_summary.csv")).expect("a table");
    let last_cells: Vec<&str> = table.lines().filter_map(|row| row.rsplit(',').next()).collect();
    assert_eq!(last_cells, ["Path", "N/A", "'=loop[0]", "'=loop[0] > if[0]", "N/A"]);

    let trace = fs::read(root.path().join("timeline.pftrace")).expect("a timeline");
    // Field 6 of an annotation, its length, and the text.
    for (text, count) in [("\x32\x08=loop[0]", 1), ("\x32\x10=loop[0] > if[0]", 1)] {
        let found = trace.windows(text.len()).filter(|bytes| *bytes == text.as_bytes()).count();
        assert_eq!(found, count, "{text:?}");
    }
}

#[test]
fn a_recording_without_paths_has_no_column_for_them() {
    let root = tempfile::tempdir().expect("a directory");
    let recording = profiled(&root.path().join("recording"), &looping(0), 1, &ProfilerOptions::default());
    recording.export(Format::Csv, root.path()).expect("an export");
    let table = fs::read_to_string(root.path().join("op_summary.csv")).expect("a table");
    assert_eq!(table.lines().next().and_then(|row| row.rsplit(',').next()), Some("Attribution"));
}

#[test]
fn runs_of_a_loop_count_only_where_no_record_was_lost() {
    let root = tempfile::tempdir().expect("a directory");
    let mut options = ProfilerOptions {
        buffer_size: Bytes::new(512),
        watermark: Bytes::new(512),
        when_full: opscope_trace::Policy::Discard,
        ..ProfilerOptions::default()
    };
    options.switches.apply("sys-hardware-mem=off").expect("a switch");
    let recording = profiled(&root.path().join("recording"), &looping(3), 1_000, &options);
    assert!(recording.problems()[0].contains("dropped"), "{:?}", recording.problems());
    assert_eq!(recording.account().expect("an account").runs.measured, 0);
}

#[test]
fn a_path_that_no_record_holds_makes_the_recording_incomplete() {
    let root = tempfile::tempdir().expect("a directory");
    let options =
        ProfilerOptions { buffer_size: Bytes::kib(8), watermark: Bytes::kib(1), ..ProfilerOptions::default() };
    // A record of 512 bytes holds 56 levels.
    let deep = (1..57).fold(looping(1), |plan, _| plan.with_body(2..3, "if", 1));
    let recording = profiled(&root.path().join("recording"), &deep, 1, &options);
    assert!(recording.problems()[0].contains("1 records were dropped"), "{:?}", recording.problems());
    assert_eq!(dispatches(&recording).len(), 3);
}

#[test]
fn each_format_has_its_name() {
    assert_eq!(Format::ALL, [Format::Perfetto, Format::Chrome, Format::Csv]);
    assert_eq!(Format::ALL.map(Format::name), ["perfetto", "chrome", "csv"]);
}
