//! What a person waits for at the prompt, and what a profile of a minute leaves on the disk.
//!
//! Each case starts the program that `OPSCOPE_BIN` names, from the first instruction to its exit. `opscope --help`, and `opscope inspect` of
//! a model of 5,000 operators: the peer is `opscope --version` of the same run, which is what a process costs that does nothing.
//! Ctrl-C after a minute with `--profiler`: the longest of some tries counts, since whoever waits, waits for that one; the peer is
//! the same without a profiler. The directory of a whole minute with all exports: the peer is what its records take that are
//! not packed. A goal is met if the whole 95 % confidence interval is within it.

#[allow(dead_code)]
#[path = "../tests/process/onnx.rs"]
mod onnx;

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const OPERATORS: usize = 5_000;
const STARTS: usize = 41;
/// The ranks of the interval of the median of [`STARTS`] values, from the binomial distribution.
const INTERVAL: [usize; 2] = [13, 27];
const MINUTE: Duration = Duration::from_secs(60);
const INTERRUPTIONS: usize = 3;
/// The bytes of a dispatch that is not packed.
const STORED_DISPATCH: f64 = 72.0;
/// The model that the README profiles.
const SMALLEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/digits_cnn.onnx");

fn main() {
    let program = std::env::var_os("OPSCOPE_BIN").expect("OPSCOPE_BIN names the program; scripts/bench sets it");
    let root = tempfile::tempdir().expect("a directory");
    let model = root.path().join("chain.onnx");
    fs::write(&model, onnx::chain(OPERATORS, "Add", onnx::FLOAT32)).expect("a new file");
    let none = ("opscope --version", median(&program, &["--version".as_ref()])[0]);
    let inspect: [&OsStr; 2] = ["inspect".as_ref(), model.as_ref()];
    case("opscope --help", median(&program, &["--help".as_ref()]), "ms", none, 50.0);
    case("opscope benchmark --help", median(&program, &["benchmark".as_ref(), "--help".as_ref()]), "ms", none, 50.0);
    case("opscope inspect, 5,000 operators", median(&program, &inspect), "ms", none, 300.0);

    let (bytes, unpacked) = minute(&program, &root.path().join("minute"));
    case("a profile of 60 s with its exports", [bytes; 3], "GB", ("its records, not packed", unpacked), 1.2);
    let without = longest_interruption(&program, &root.path().join("without"), &[]);
    let with = longest_interruption(&program, &root.path().join("with"), &["--profiler"]);
    let name = format!("Ctrl-C after 60 s with --profiler, longest of {INTERRUPTIONS}");
    case(&name, [with; 3], "s", ("without a profiler", without), 1.0);
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

/// Starts a benchmark of the smallest model in a directory.
fn benchmark(program: &OsStr, directory: &Path, duration: Duration, options: &[&str]) -> Child {
    let mut command = Command::new(program);
    command.args(["benchmark", SMALLEST, "--output-dirname", "run", "--output"]).arg(directory);
    command.arg("--duration").arg(duration.as_secs().to_string()).args(options);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the program starts")
}

/// The gigabytes of everything that a profile of a minute leaves, and those of its records if each were stored as it is.
fn minute(program: &OsStr, directory: &Path) -> (f64, f64) {
    let status = benchmark(program, directory, MINUTE, &["--profiler"]).wait().expect("the program ends");
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

/// The most seconds from a Ctrl-C, after a minute of runs, to the end of the process.
fn longest_interruption(program: &OsStr, directory: &Path, options: &[&str]) -> f64 {
    let seconds = (0..INTERRUPTIONS).map(|round| {
        let mut child = benchmark(program, &directory.join(round.to_string()), 10 * MINUTE, options);
        std::thread::sleep(MINUTE);
        let begin = Instant::now();
        kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
        let status = child.wait().expect("it ends");
        let seconds = begin.elapsed().as_secs_f64();
        assert!(status.code().is_some(), "Ctrl-C keeps what was measured: {status}");
        seconds
    });
    seconds.fold(0.0, f64::max)
}

fn case(case: &str, [value, low, high]: [f64; 3], unit: &str, (peer, peer_value): (&str, f64), most: f64) {
    let met = high <= most;
    if std::env::args().any(|argument| argument == "--json") {
        let line = json!({
            "bench": "command", "case": case, "value": value, "unit": unit, "interval": [low, high], "peer": peer,
            "peer_value": peer_value, "floor": null, "goal": format!("<= {most} {unit}"), "met": met,
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
        "command    {case:<52} {value:>10.3} {unit} ({low:.3} to {high:.3}); {peer} {peer_value:.3}; goal <= {most} {unit}: {verdict}"
    );
}
