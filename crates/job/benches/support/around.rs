//! The time that a command takes in addition to the work of the engine.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use opscope_bench::{Case, Goal, Judged, Measured, decide, median, times};

/// Measures the wall time of the command with `--profiler` and `options`, without the engine's part.
pub fn around(bench: &str, name: &str, model: &Path, options: &[&str]) {
    let program = std::env::var_os("OPSCOPE_BIN").expect("OPSCOPE_BIN is the opscope program; scripts/bench sets it");
    let scratch = tempfile::tempdir().expect("there is a temporary directory");
    let once = |round: usize| {
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
        (wall - engine, wall)
    };
    let (mut around, mut whole) = (Vec::new(), Vec::new());
    let goal = Goal::AtMost(100.0);
    let judged = decide(goal, || {
        for _ in 0..times(15, 1) {
            let (beside, wall) = once(around.len());
            around.push(beside);
            whole.push(wall);
        }
        Judged::alone(Measured::of(&around))
    });
    let peer = ("whole command, ms", median(&whole));
    let case = format!("start, parse, report, {name}");
    Case { bench, case, judged, unit: "ms", peer, floor: None, goal }.print();
}
