//! Measures what a dump costs: its time compared with a run without it and with only writing its files, and its memory.

mod support;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Arc, Mutex};

use opscope::dump::{Answer, Contents, DirectorySink, DumpInfo, Dumper, Piece, Request, Sink, Stream};
use opscope::model::{Fidelity, Instrument, NoObserver, RunId, RunInfo};
use opscope_bench::{Case, Goal, Judged, Measured, Verdict, decide, finish, median, not_measured, times};
use opscope_clock::Calibration;
use support::{NO_MODELS, Ready, calibration, growth, light, nanos, ready};

/// The goal for the time beside the engine. Two processors write while one computes, so a run grows by less than
/// writing alone takes.
const TIME: Goal = Goal::AtMost(1.0);
/// The most memory in MiB that a dump may take, whatever it dumps.
const GROWTH: Goal = Goal::AtMost(256.0);
/// The model for measuring memory. A run of it computes more bytes of tensors than it has weights.
const LARGE: &str = "densenet121";
/// The number of runs. Their tensors together exceed the memory that a dump may take.
const RUNS: u64 = 6;
const MIB: f64 = (1 << 20) as f64;

fn main() -> ExitCode {
    if let Some(mode) = std::env::var_os("OPSCOPE_DUMP_CHILD") {
        child(&mode.to_string_lossy());
        return ExitCode::SUCCESS;
    }
    let calibration = calibration();
    for name in ["squeezenet", "resnet50"] {
        match light(name) {
            Some(path) => cost(name, &path, &calibration),
            None => not_measured("dump", &format!("time, {name}"), TIME, "x", NO_MODELS),
        }
    }
    match light(LARGE) {
        Some(_) => memory(),
        None => not_measured("dump", &format!("memory, {LARGE}"), GROWTH, "MiB", NO_MODELS),
    }
    finish()
}

/// Runs with a dump into a new directory, and waits until the last byte is written.
fn dumped(ready: &Ready, directory: &Path, runs: u64) {
    let engine = ready.session.engine();
    let graph = ready.session.graph();
    let info = DumpInfo::new(graph, Fidelity::Exact, engine.name(), engine.version());
    let sink = DirectorySink::create(directory, Contents::Tensors, &info).expect("the dump can be made");
    let dumper = Dumper::new();
    dumper.subscribe(Box::new(sink), Request::default()).expect("the sink subscribes");
    // What was computed at load is written once, whatever the number of runs, so it is not part of a run's time.
    for id in (0..runs).map(RunId) {
        let info = RunInfo { id, graph, kernels: ready.plan.kernels(), fidelity: Fidelity::Exact };
        let observer = dumper.observe(&info);
        std::hint::black_box(ready.plan.run(id, &*ready.resident, &*observer).expect("it runs"));
    }
    let report = dumper.finish().expect("the dump is closed");
    assert!(report.subscriptions.iter().all(|subscription| subscription.errors.is_empty()), "{report:?}");
}

fn files_of(directory: &Path, into: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(directory).expect("the dump can be read") {
        let path = entry.expect("the dump can be read").path();
        if path.is_dir() {
            files_of(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "npy") {
            let bytes = fs::read(&path).expect("the dump can be read");
            into.push((path, bytes));
        }
    }
}

fn write_files(files: &[(PathBuf, Vec<u8>)], directory: &Path) {
    fs::create_dir(directory).expect("a directory can be made");
    for (path, bytes) in files {
        let mut file = File::create_new(directory.join(path.file_name().expect("a file has a name"))).expect("new");
        file.write_all(bytes).expect("it is written");
    }
}

fn cost(name: &str, path: &Path, calibration: &Calibration) {
    let ready = ready(path, Fidelity::Exact);
    let scratch = tempfile::tempdir().expect("there is a temporary directory");
    let place = |kind: &str, round: usize| scratch.path().join(format!("{kind}{round}"));
    dumped(&ready, &place("first", 0), 1);
    let mut files = Vec::new();
    files_of(&place("first", 0), &mut files);
    let [mut ratios, mut writes, mut extras, mut controls] = [const { Vec::new() }; 4];
    let judged = decide(TIME, || {
        for round in 0..times(15, 2) {
            let exact = nanos(calibration, || {
                std::hint::black_box(ready.plan.run(RunId(0), &*ready.resident, &NoObserver).expect("it runs"));
            });
            let with_dump = nanos(calibration, || dumped(&ready, &place("dump", round), 1));
            let write = nanos(calibration, || write_files(&files, &place("write", round)));
            let again = nanos(calibration, || write_files(&files, &place("again", round)));
            for kind in ["dump", "write", "again"] {
                fs::remove_dir_all(place(kind, round)).expect("it can be removed");
            }
            controls.push(again / write);
            ratios.push((with_dump - exact) / write);
            writes.push(write / 1e6);
            extras.push((with_dump - exact) / 1e6);
        }
        Judged { measured: Measured::of(&ratios), noise: Measured::of(&controls).reach_from(1.0) }
    });
    let bytes: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    Case {
        bench: "dump",
        case: format!("time, {name}: {} files, {:.1} MB, +{:.2} ms", files.len(), bytes as f64 / 1e6, median(&extras)),
        judged,
        unit: "x",
        peer: ("open, write, close of the same files, ms", median(&writes)),
        floor: None,
        goal: TIME,
    }
    .print();
}

/// Does the runs in a child process, and prints how much its memory grew.
fn child(mode: &str) {
    let ready = ready(&light(LARGE).expect("the parent has it"), Fidelity::Exact);
    let exact = || {
        std::hint::black_box(ready.plan.run(RunId(0), &*ready.resident, &NoObserver).expect("it runs"));
    };
    // Runs once before, because memory that the engine keeps between runs does not belong to the dump.
    exact();
    let scratch = tempfile::tempdir().expect("there is a temporary directory");
    let grown = growth(|| match mode {
        "exact" => (0..RUNS).for_each(|_| exact()),
        "dump" => dumped(&ready, &scratch.path().join("dump"), RUNS),
        // This is how much the dump would have grown if it kept everything.
        _ => keep(&ready),
    });
    println!("{grown}");
}

/// Runs with a sink that keeps a copy of every tensor.
fn keep(ready: &Ready) {
    let kept = Arc::default();
    let dumper = Dumper::new();
    dumper.subscribe(Box::new(Keep(Arc::clone(&kept))), Request::default()).expect("the sink subscribes");
    for id in (0..RUNS).map(RunId) {
        let graph = ready.session.graph();
        let info = RunInfo { id, graph, kernels: ready.plan.kernels(), fidelity: Fidelity::Exact };
        let observer = dumper.observe(&info);
        std::hint::black_box(ready.plan.run(id, &*ready.resident, &*observer).expect("it runs"));
    }
    dumper.finish().expect("the dump is closed");
}

struct Keep(Arc<Mutex<Vec<Vec<u8>>>>);

impl Sink for Keep {
    fn piece(&mut self, _stream: &Stream, piece: Piece<'_>) -> Answer {
        self.0.lock().expect("no thread panics").push(piece.bytes.to_vec());
        Answer::Continue
    }
}

fn memory() {
    let grown = |mode: &str| {
        let program = std::env::current_exe().expect("this program has a path");
        let output = Command::new(program).env("OPSCOPE_DUMP_CHILD", mode).output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout);
        text.trim().parse::<f64>().unwrap_or_else(|_| panic!("{mode}: {output:?}")) / MIB
    };
    let kept = grown("keep") - grown("exact");
    // If even keeping everything reaches the goal, the case shows nothing.
    let goal = if GROWTH.verdict(Judged::alone(Measured::exactly(kept))) == Verdict::Met {
        Goal::AtMost(f64::NAN)
    } else {
        GROWTH
    };
    let [mut above, mut exacts] = [const { Vec::new() }; 2];
    let judged = decide(goal, || {
        for _ in 0..times(7, 1) {
            let exact = grown("exact");
            above.push(grown("dump") - exact);
            exacts.push(exact);
        }
        Judged { measured: Measured::of(&above), noise: Measured::of(&exacts).reach_from(median(&exacts)) }
    });
    let case = format!("growth over {RUNS} runs above the exact ones, {LARGE}");
    Case { bench: "dump", case, judged, unit: "MiB", peer: ("with every tensor kept, MiB", kept), floor: None, goal }
        .print();
}
