//! How long a person waits at the prompt, and how much a profile of a minute leaves on the disk.
//!
//! Each case runs the program in `OPSCOPE_BIN`, from its first instruction to its exit. For `opscope --help`, and
//! `opscope inspect` of a model with 5,000 operators, the peer is `opscope --version` in the same run: the cost of a
//! process that does nothing. For Ctrl-C after a minute with `--profiler`, the longest of several tries counts, because
//! a person waits for that one; the peer is the same without a profiler. For the directory of a whole minute with all
//! exports, the peer is the size of its records before packing.

#[allow(dead_code)]
#[path = "../tests/process/onnx.rs"]
mod onnx;

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use opscope_bench::{Case, Contender, Goal, Judged, Measured, Rounds, decide, finish, median, times};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const OPERATORS: usize = 5_000;
const STARTS: usize = 41;
const INTERRUPTIONS: usize = 3;
/// The size of a dispatch that is not packed, in bytes.
const STORED_DISPATCH: f64 = 72.0;
/// The model that the README profiles.
const SMALLEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/digits_cnn.onnx");

/// Returns the length of a minute: a second if the benchmark only shows that it runs.
fn a_minute() -> Duration {
    Duration::from_secs(times(60, 1))
}

fn main() -> ExitCode {
    let program = std::env::var_os("OPSCOPE_BIN").expect("OPSCOPE_BIN names the program; scripts/bench sets it");
    let root = tempfile::tempdir().expect("a directory");
    let model = root.path().join("chain.onnx");
    fs::write(&model, onnx::chain(OPERATORS, "Add", onnx::FLOAT32)).expect("a new file");
    start(&program, "opscope --help", &["--help".as_ref()], 50.0);
    start(&program, "opscope benchmark --help", &["benchmark".as_ref(), "--help".as_ref()], 50.0);
    start(&program, "opscope inspect, 5,000 operators", &["inspect".as_ref(), model.as_ref()], 300.0);

    let sizes: Vec<(f64, f64)> =
        (0..times(3, 1)).map(|round| minute(&program, &root.path().join(format!("minute-{round}")))).collect();
    let (bytes, unpacked): (Vec<f64>, Vec<f64>) = sizes.into_iter().unzip();
    let peer = ("its records, not packed, GB", median(&unpacked));
    case("a profile of 60 s with its exports", Judged::alone(Measured::of(&bytes)), "GB", peer, Goal::AtMost(1.2));
    let without = interruptions(&program, &root.path().join("without"), &[]);
    let with = interruptions(&program, &root.path().join("with"), &["--profiler"]);
    let name = format!("Ctrl-C after 60 s with --profiler, {INTERRUPTIONS} times");
    let peer = ("without a profiler, s", median(&without));
    case(&name, Judged::alone(Measured::of(&with)), "s", peer, Goal::AtMost(1.0));
    finish()
}

/// Measures the milliseconds of a command, with one that does nothing as the peer.
fn start(program: &OsStr, name: &str, arguments: &[&OsStr], most: f64) {
    let once = |arguments: &[&OsStr]| {
        let begin = Instant::now();
        let mut command = Command::new(program);
        let status = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).status();
        assert!(status.expect("the program starts").success(), "{arguments:?} fails");
        begin.elapsed().as_secs_f64() * 1e3
    };
    let goal = Goal::AtMost(most);
    let mut rounds = Rounds::new(
        STARTS,
        [Contender::new("--version", || once(&["--version".as_ref()])), Contender::new("ours", || once(arguments))],
    );
    let judged = decide(goal, || {
        rounds.more();
        Judged { measured: rounds.cost(1), noise: rounds.difference(0, 0).noise }
    });
    case(name, judged, "ms", ("opscope --version, ms", rounds.cost(0).value), goal);
}

/// Starts a benchmark of the smallest model in a directory.
fn benchmark(program: &OsStr, directory: &Path, duration: Duration, options: &[&str]) -> Child {
    let mut command = Command::new(program);
    command.args(["benchmark", SMALLEST, "--output-dirname", "run", "--output"]).arg(directory);
    command.arg("--duration").arg(duration.as_secs().to_string()).args(options);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the program starts")
}

/// Returns the gigabytes of everything that a profile of a minute leaves, and those of its records without packing.
fn minute(program: &OsStr, directory: &Path) -> (f64, f64) {
    let status = benchmark(program, directory, a_minute(), &["--profiler"]).wait().expect("the program ends");
    assert!(status.success(), "a profile of a minute: {status}");
    let manifest = fs::read(directory.join("profiler/run/manifest.json")).expect("a manifest");
    let manifest: Value = serde_json::from_slice(&manifest).expect("a document");
    assert_eq!(manifest["complete"], true, "{manifest}");
    let records = manifest["records"]["emitted"].as_f64().expect("how many records there are");
    (bytes_below(directory) as f64 / 1e9, records * STORED_DISPATCH / 1e9)
}

fn bytes_below(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).expect("a directory");
    let bytes = entries.map(|entry| {
        let entry = entry.expect("an entry");
        let metadata = entry.metadata().expect("it is there");
        if metadata.is_dir() { bytes_below(&entry.path()) } else { metadata.len() }
    });
    bytes.sum()
}

/// Returns the seconds from a Ctrl-C, after a minute of runs, to the end of the process.
fn interruptions(program: &OsStr, directory: &Path, options: &[&str]) -> Vec<f64> {
    let once = |round: usize| {
        let mut child = benchmark(program, &directory.join(round.to_string()), 10 * a_minute(), options);
        std::thread::sleep(a_minute());
        let begin = Instant::now();
        kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
        let status = child.wait().expect("it ends");
        let seconds = begin.elapsed().as_secs_f64();
        assert!(status.code().is_some(), "Ctrl-C keeps what was measured: {status}");
        seconds
    };
    (0..times(INTERRUPTIONS, 1)).map(once).collect()
}

fn case(case: &str, judged: Judged, unit: &str, peer: (&str, f64), goal: Goal) {
    Case { bench: "command", case: case.to_owned(), judged, unit, peer, floor: None, goal }.print();
}
