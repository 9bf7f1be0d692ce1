//! How long does a person wait for `opscope --help`, and for `opscope inspect` of a model of 5,000 operators?
//!
//! Each case starts the program that `OPSCOPE_BIN` names, from the first instruction to its exit. The peer is `opscope --version` of the same
//! run: what a process costs that does nothing. A goal is met if the whole 95 % confidence interval of the median is within it.

#[allow(dead_code)]
#[path = "../tests/process/onnx.rs"]
mod onnx;

use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::json;

const OPERATORS: usize = 5_000;
const STARTS: usize = 41;
/// The ranks of the interval of the median of [`STARTS`] values, from the binomial distribution.
const INTERVAL: [usize; 2] = [13, 27];

fn main() {
    let program = std::env::var_os("OPSCOPE_BIN").expect("OPSCOPE_BIN names the program; scripts/bench sets it");
    let root = tempfile::tempdir().expect("a directory");
    let model = root.path().join("chain.onnx");
    std::fs::write(&model, onnx::chain(OPERATORS, "Add", onnx::FLOAT32)).expect("a new file");
    let none = median(&program, &["--version".as_ref()]);
    let inspect: [&OsStr; 2] = ["inspect".as_ref(), model.as_ref()];
    case("opscope --help", median(&program, &["--help".as_ref()]), none, 50.0);
    case("opscope benchmark --help", median(&program, &["benchmark".as_ref(), "--help".as_ref()]), none, 50.0);
    case("opscope inspect, 5,000 operators", median(&program, &inspect), none, 300.0);
}

/// The median of the milliseconds of a command, and the ends of its interval.
fn median(program: &OsStr, arguments: &[&OsStr]) -> [f64; 3] {
    let mut times: Vec<f64> = (0..STARTS)
        .map(|_| {
            let begin = Instant::now();
            let mut command = Command::new(program);
            let status = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).status();
            assert!(status.expect("the program starts").success(), "{arguments:?} fails");
            begin.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    [times[STARTS / 2], times[INTERVAL[0]], times[INTERVAL[1]]]
}

fn case(case: &str, [value, low, high]: [f64; 3], [peer, ..]: [f64; 3], most: f64) {
    let met = high <= most;
    if std::env::args().any(|argument| argument == "--json") {
        let line = json!({
            "bench": "command", "case": case, "value": value, "unit": "ms", "peer": "opscope --version",
            "peer_value": peer, "floor": null, "goal": format!("<= {most} ms"), "met": met,
        });
        println!("{line}");
        return;
    }
    let verdict = match () {
        () if met => "met",
        () if low > most => "MISSED",
        () => "undecided",
    };
    println!(
        "command    {case:<52} {value:>10.3} ms ({low:.3} to {high:.3}); --version {peer:.3}; goal <= {most} ms: {verdict}"
    );
}
