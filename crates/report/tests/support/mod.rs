//! Recordings and dumps of invented models: any number of operators, any names, any times.

#![allow(dead_code, reason = "each test file uses its share")]

#[path = "../../../cli/tests/process/onnx.rs"]
mod onnx;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::testing::{GraphBuilder, kernels};
use opscope_model::{Fidelity, Instrument, RunId, RunInfo};
use opscope_onnx::Graph;
use opscope_profile::{EngineInfo, Profiler, ProfilerOptions, RecordingInfo};
use opscope_report::Report;
use serde_json::{Value, json};

/// Names that would be markup, code or an attribute if one of them were not escaped.
pub const HOSTILE: [&str; 5] = [
    "</script><script>window.hostile = 1</script>",
    "\"><img src=x onerror='window.hostile = 1'>",
    "' onmouseover='window.hostile = 1' x='",
    "<!--<svg/onload=window.hostile=1>-->]]>&lt;b&gt;",
    "\u{202e}reversed\u{1b}[31m\n${window.hostile=1}`",
];

/// Returns the names of operators in layers, such as `/encoder/layer.3/MatMul_7`.
pub fn layered(operators: usize) -> Vec<(String, &'static str)> {
    const TYPES: [&str; 10] =
        ["MatMul", "Add", "Softmax", "LayerNormalization", "Gelu", "Transpose", "Reshape", "Mul", "Sub", "Gather"];
    let name = |index: usize| {
        let op_type = TYPES[index % TYPES.len()];
        let (layer, part) =
            (index / 40, ["attention/self", "attention/output", "intermediate", "output"][index / 10 % 4]);
        (format!("/bert/encoder/layer.{layer}/{part}/{op_type}_{index}"), op_type)
    };
    (0..operators).map(name).collect()
}

/// Records runs of operators, one kernel each. A microsecond is 1000 ticks, whatever the clock of this machine is.
pub fn record(directory: &Path, operators: &[(String, &'static str)], runs: u64) {
    let builder = GraphBuilder::new("made").input("x", &[2, 3]);
    let builder =
        operators.iter().fold(builder, |builder, (name, op_type)| builder.operator(name, op_type, &["x"], &[]));
    record_graph(directory, &Arc::new(builder.build()), runs);
}

/// Writes a model of operators that follow each other, and returns its graph.
pub fn model(path: &Path, operators: &[(String, &'static str)]) -> Arc<Graph> {
    let values: Vec<String> = (0..=operators.len()).map(|index| format!("v{index}")).collect();
    let nodes: Vec<onnx::Node<'_>> = operators
        .iter()
        .zip(values.windows(2))
        .enumerate()
        .map(|(index, ((name, op_type), ends))| {
            // Every seventh operator also takes the output of an earlier one.
            let other = if index.is_multiple_of(7) { &values[index.saturating_sub(5)] } else { &ends[0] };
            onnx::node(name, op_type, &[&ends[0], other], &[&ends[1]])
        })
        .collect();
    let last = values.last().map_or("", String::as_str);
    let file = onnx::file("made", "a test", &[("v0", &["2", "3"])], &nodes, &[(last, &["2", "3"])]);
    fs::write(path, file).expect("a new file");
    Arc::new(Graph::load(path).expect("a model"))
}

/// Records runs of the operators of a graph, one kernel each.
pub fn record_graph(directory: &Path, graph: &Arc<Graph>, runs: u64) {
    let names: Vec<&str> = graph.operators.iter().map(|operator| operator.name.as_str()).collect();
    let groups: Vec<[&str; 1]> = names.iter().map(|name| [*name]).collect();
    let groups: Vec<&[&str]> = groups.iter().map(|group| group.as_slice()).collect();
    let kernels = kernels(graph, &groups);
    let info = RecordingInfo { graph: Arc::clone(graph), engine: EngineInfo::new("paper", "1", Fidelity::Optimised) };
    fs::create_dir_all(directory.parent().expect("it has one")).expect("a directory");
    let profiler = Profiler::create(directory, &info, &ProfilerOptions::default()).expect("a new directory");
    let mut now = Ticks::now().as_raw();
    for run in 0..runs {
        let _range = opscope_trace::range("decode");
        let info = RunInfo { id: RunId(run), graph, kernels: &kernels, fidelity: Fidelity::Optimised };
        let observer = profiler.observe(&info);
        let begin = now;
        now += 500;
        for kernel in kernels.iter() {
            let index = kernel.id.index() as u64;
            let ticks = 1_000 + (index * 7_919) % 5_000 + (run * 31) % 97;
            observer.timed(kernel.id, &[], Ticks::from_raw(now), Ticks::from_raw(now + ticks));
            now += ticks + 100;
        }
        observer.finished(Ok((Ticks::from_raw(begin), Ticks::from_raw(now))));
        now += 1_000;
    }
    let manifest = profiler.finish().expect("a manifest");
    assert!(manifest.complete, "{:?}", manifest.incomplete_because);
}

/// Writes a dump of statistics. Each value is given as its name, its operator, and its numbers of NaN and infinite
/// elements.
pub fn dump(directory: &Path, values: &[(&str, &str, u64, u64)]) {
    fs::create_dir_all(directory).expect("a new directory");
    let line = |(index, (value, operator, nan, inf)): (usize, &(&str, &str, u64, u64))| {
        json!({
            "run": 0, "operator": operator, "op_type": "Add", "position": index, "io": "output", "slot": 0,
            "value": value, "dtype": "float32", "shape": [2, 3], "file": null, "bytes": 24,
            "xxh3": "00000000deadbeef", "min": -1.5, "max": 2.0 + index as f64, "mean": 0.25, "nan": nan, "inf": inf,
            "state": "statistics",
        })
    };
    let lines: Vec<String> = values.iter().enumerate().map(|value| line(value).to_string() + "\n").collect();
    fs::write(directory.join("index.jsonl"), lines.concat()).expect("a new file");
    let manifest = json!({
        "schema": "opscope.dump/1", "complete": true, "writer": "a test", "fidelity": "exact", "contents": "statistics",
        "model": { "path": "models/made.onnx", "name": "made", "xxh3": "00000000deadbeef" },
        "engine": { "name": "paper", "version": "1" }, "tensors": values.len(), "bytes": 24 * values.len(),
        "inputs": [], "runs": [{ "run": 0, "inputs": null, "failure": null, "in_flight": [] }], "raw": [],
        "missing_count": 0, "missing": [], "errors": [],
    });
    fs::write(directory.join("manifest.json"), manifest.to_string()).expect("a new file");
}

/// Returns a summary of runs of these times, in milliseconds.
pub fn summary(times: &[f64]) -> Value {
    let latency = json!({ "min": 1.0, "max": 3.0, "mean": 2.0, "median": 2.0, "P90": 2.5, "P95": 2.6, "P99": 2.9, "count": times.len() });
    json!({
        "schema": "opscope.summary/1", "run": "first", "opscope": "opscope 0.1.0", "args": ["opscope"], "pid": 7,
        "model": { "path": "models/made.onnx", "bytes": 9, "xxh3": "00000000deadbeef", "graph": "made", "operators": 2 },
        "engine": { "name": "paper", "version": "1", "fidelity": "optimised", "threads": 1, "concurrent_runs": 1 },
        "machine": { "cpu": "abacus", "processors": 2, "memory_bytes": 1024, "system": "linux 0" },
        "load_ms": 1.0, "peak_memory_bytes": 4096, "complete": true, "incomplete_because": [],
        "inputs": [{ "name": "x", "dtype": "float32", "shape": [2, 3] }],
        "NPU_compute_time": latency, "H2D_latency": latency, "D2H_latency": latency,
        "median_interval_95": [1.9, 2.1], "throughput": 500.0, "batchsize": 1.0, "plan_ms": 2.0, "run_memory": null,
        "npu_compute_time_list": times, "filesinfo": {},
    })
}

/// Returns the page of some paths.
pub fn page(paths: &[&Path]) -> String {
    let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
    Report::read(&paths, &|_| {}).expect("they can be read").to_html().expect("charts can be drawn")
}
