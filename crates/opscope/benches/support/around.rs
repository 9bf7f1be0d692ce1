//! What a command needs beside the work of the engine.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::{Case, Goal, median};

/// The wall time of the command with `--profiler` and `options`, less what the engine did in it.
pub fn around(bench: &'static str, name: &str, model: &Path, options: &[&str]) {
    let program = std::env::var_os("OPSCOPE_BIN").expect("OPSCOPE_BIN is the opscope program; scripts/bench sets it");
    let scratch = tempfile::tempdir().expect("there is a temporary directory");
    let (mut around, mut whole) = (Vec::new(), Vec::new());
    for round in 0..15 {
        let start = Instant::now();
        let output = Command::new(&program)
            .arg("benchmark")
            .arg(model)
            .args(["--loop", "5", "--warmup-count", "1", "--profiler", "--json", "--quiet", "--output"])
            .arg(scratch.path())
            .args(options)
            .args(["--output-dirname", &round.to_string()])
            .output()
            .expect("opscope starts");
        let wall = start.elapsed().as_secs_f64() * 1e3;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
        let number = |value: &serde_json::Value| value.as_f64().expect("a number");
        let runs = |key: &str| number(&report[key]["mean"]) * 6.0;
        let engine = number(&report["load_ms"])
            + number(&report["plan_ms"])
            + runs("NPU_compute_time")
            + runs("H2D_latency")
            + runs("D2H_latency");
        around.push(wall - engine);
        whole.push(wall);
    }
    let (value, interval) = (median(&around), opscope::benchmark::median_interval(&around));
    Case {
        bench,
        case: format!("start, parse, report, {name}"),
        value,
        interval,
        unit: "ms",
        peer: "whole command, ms".to_owned(),
        peer_value: median(&whole),
        floor: None,
        goal: "<= 100 ms".to_owned(),
        met: Goal::AtMost(100.0).met(value, interval, 0.0),
    }
    .print();
}
