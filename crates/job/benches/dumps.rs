//! Measures what capturing tensors costs: a callback, files, statistics, memory with a slow sink, and comparing dumps.

mod support;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use opscope::dump::{
    Answer, CompareOptions, Comparison, Contents, Delivery, DirectorySink, DumpInfo, Dumper, Flow, Piece, Policy,
    Request, Sink, StoredDump, Stream,
};
use opscope::model::{Fidelity, Instrument, NoObserver, RunId, RunInfo};
use opscope::tensor::Statistics;
use opscope_bench::{Case, Contender, Goal, Judged, Measured, Rounds, decide, finish, median, not_measured, times};
use opscope_clock::Calibration;
use opscope_sys::memory;
use support::{NO_MODELS, Ready, calibration, growth, light, nanos, output_bytes, ready};

const MODELS: [&str; 2] = ["vgg19", "densenet121"];
/// Models whose runs compute more bytes of tensors than they have of weights.
const SMALL_WEIGHTS: [&str; 2] = ["squeezenet", "densenet121"];
/// The number of rounds that are measured at once.
const ROUNDS: usize = 15;
const CALLBACK: Goal = Goal::AtMost(1.1);
const STATISTICS: Goal = Goal::AtMost(1.15);
const FILES: Goal = Goal::AtMost(1.25);
/// The share of the bandwidth of reading.
const HALF: Goal = Goal::AtLeast(0.5);
const CHILD: &str = "OPSCOPE_DUMPS_CHILD";
const MIB: f64 = (1 << 20) as f64;

fn main() -> ExitCode {
    if let Ok(mode) = std::env::var(CHILD) {
        child(&mode);
        return ExitCode::SUCCESS;
    }
    let calibration = calibration();
    for name in MODELS {
        let Some(path) = light(name) else {
            not_measured("dumps", &format!("all, {name}"), CALLBACK, "x", NO_MODELS);
            continue;
        };
        let ready = ready(&path, Fidelity::Exact);
        let scratch = tempfile::tempdir().expect("there is a temporary directory");
        callback(name, &ready, &calibration);
        statistics(name, &ready, scratch.path(), &calibration);
        files(name, &ready, scratch.path(), &calibration);
    }
    for name in SMALL_WEIGHTS {
        match light(name) {
            Some(path) => slow_sink(name, &ready(&path, Fidelity::Exact)),
            None => not_measured("dumps", &format!("memory, {name}"), Goal::AtMost(CAP as f64 / MIB), "MiB", NO_MODELS),
        }
    }
    match light("vgg19") {
        Some(path) => compare(&ready(&path, Fidelity::Exact), &calibration),
        None => not_measured("dumps", "comparing", HALF, "x", NO_MODELS),
    }
    finish()
}

/// A sink that only counts.
struct Count(u64);

impl Sink for Count {
    fn piece(&mut self, _stream: &Stream, piece: Piece<'_>) -> Answer {
        self.0 += piece.bytes.len() as u64;
        Answer::Continue
    }
}

fn run(ready: &Ready, dumper: &Dumper, id: u64) {
    let (graph, kernels) = (ready.session.graph(), ready.plan.kernels());
    let info = RunInfo { id: RunId(id), graph, kernels, fidelity: Fidelity::Exact };
    let observer = dumper.observe(&info);
    std::hint::black_box(ready.plan.run(RunId(id), &*ready.resident, &*observer).expect("it runs"));
}

fn exact(ready: &Ready, calibration: &Calibration) -> f64 {
    nanos(calibration, || {
        std::hint::black_box(ready.plan.run(RunId(0), &*ready.resident, &NoObserver).expect("it runs"));
    })
}

/// Returns a dumper with one sink of this kind.
fn dumper(ready: &Ready, sink: Box<dyn Sink>, delivery: Option<Delivery>) -> Dumper {
    let dumper = Dumper::new();
    dumper.subscribe(sink, Request { delivery, ..Request::default() }).expect("the sink subscribes");
    dumper.add_plan(&**ready.session.model(), &*ready.plan).expect("the plan is known");
    dumper
}

fn directory(ready: &Ready, root: &Path, contents: Contents) -> Box<dyn Sink> {
    let engine = ready.session.engine();
    let info = DumpInfo::new(ready.session.graph(), Fidelity::Exact, engine.name(), engine.version());
    Box::new(DirectorySink::create(root, contents, &info).expect("the dump can be made"))
}

/// Compares a callback with the exact run. This peer is stricter than a run whose tensors are kept.
fn callback(name: &str, ready: &Ready, calibration: &Calibration) {
    let dumper = dumper(ready, Box::new(Count(0)), Some(Delivery::Direct));
    against_exact(format!("callback that counts, {name}"), ready, &dumper, CALLBACK, calibration);
}

fn statistics(name: &str, ready: &Ready, scratch: &Path, calibration: &Calibration) {
    let root = scratch.join("statistics");
    let dumper = dumper(ready, directory(ready, &root, Contents::Statistics), None);
    against_exact(format!("statistics only, {name}"), ready, &dumper, STATISTICS, calibration);
    assert!(dumper.finish().expect("it is closed").is_complete());
}

/// Compares runs with a dumper with runs without one.
fn against_exact(case: String, ready: &Ready, dumper: &Dumper, goal: Goal, calibration: &Calibration) {
    let mut id = 0;
    let mut rounds = Rounds::new(
        ROUNDS,
        [
            Contender::new("exact run", || exact(ready, calibration)),
            Contender::new("with the dumper", || {
                id += 1;
                nanos(calibration, || run(ready, dumper, id))
            }),
        ],
    );
    let judged = rounds.decide_ratio(goal, 1, 0);
    let peer = ("exact run, ms", rounds.cost(0).value / 1e6);
    Case { bench: "dumps", case, judged, unit: "x", peer, floor: Some(1.0), goal }.print();
}

/// Compares the dump with only writing its files, and statistics of its tensors with only reading them.
fn files(name: &str, ready: &Ready, scratch: &Path, calibration: &Calibration) {
    let place = |kind: &str, round: usize| scratch.join(format!("{kind}{round}"));
    let dumped = |root: &Path| {
        let dumper = Dumper::new();
        dumper.subscribe(directory(ready, root, Contents::Tensors), Request::default()).expect("the sink subscribes");
        // What was computed at load is written once, whatever the number of runs, so it is not part of a run's time.
        run(ready, &dumper, 0);
        let report = dumper.finish().expect("the dump is closed");
        assert!(report.subscriptions.iter().all(|subscription| subscription.errors.is_empty()), "{report:?}");
    };
    dumped(&place("first", 0));
    let stored = StoredDump::open(&place("first", 0)).expect("the dump can be read");
    let tensors: Vec<_> = stored.tensors.iter().map(|tensor| tensor.read().expect("the tensor is there")).collect();
    let contents: Vec<(PathBuf, Vec<u8>)> = stored
        .tensors
        .iter()
        .filter_map(|tensor| tensor.file())
        .map(|file| (file.to_path_buf(), fs::read(file).expect("the file is there")))
        .collect();
    let [mut ratios, mut writes, mut controls] = [const { Vec::new() }; 3];
    let judged = decide(FILES, || {
        for round in 0..times(ROUNDS, 2) {
            let exact = exact(ready, calibration);
            let with_dump = nanos(calibration, || dumped(&place("dump", round)));
            let write = nanos(calibration, || write_files(&contents, &place("write", round)));
            let again = nanos(calibration, || write_files(&contents, &place("again", round)));
            for kind in ["dump", "write", "again"] {
                fs::remove_dir_all(place(kind, round)).expect("it can be removed");
            }
            controls.push(again / write);
            ratios.push((with_dump - exact) / write);
            writes.push(write / 1e6);
        }
        Judged { measured: Measured::of(&ratios), noise: Measured::of(&controls).reach_from(1.0) }
    });
    let case = format!("npy files, {name}: {} files", contents.len());
    let peer = ("open, write, close, ms", median(&writes));
    Case { bench: "dumps", case, judged, unit: "x", peer, floor: None, goal: FILES }.print();

    let bytes: usize = tensors.iter().map(|tensor| tensor.bytes().len()).sum();
    let read = || nanos(calibration, || tensors.iter().for_each(|tensor| read_once(tensor.bytes())));
    let statistics = || {
        nanos(calibration, || {
            for tensor in &tensors {
                std::hint::black_box(Statistics::of(&tensor.view()).expect("floats have statistics"));
            }
        })
    };
    let mut rounds = Rounds::new(ROUNDS, [Contender::new("read", read), Contender::new("statistics", statistics)]);
    let judged = rounds.decide_ratio(HALF, 0, 1);
    let peer = ("read, one thread, GB/s", bytes as f64 / rounds.cost(0).value);
    let case = format!("statistics' bandwidth, {name}");
    Case { bench: "dumps", case, judged, unit: "x", peer, floor: None, goal: HALF }.print();
}

/// Reads every byte once, as fast as one thread can.
fn read_once(bytes: &[u8]) {
    let sum = bytes.as_chunks::<8>().0.iter().fold(0u64, |sum, bytes| sum.wrapping_add(u64::from_le_bytes(*bytes)));
    std::hint::black_box(sum);
}

fn write_files(files: &[(PathBuf, Vec<u8>)], directory: &Path) {
    fs::create_dir(directory).expect("a directory can be made");
    for (path, bytes) in files {
        let mut file = File::create_new(directory.join(path.file_name().expect("a file has a name"))).expect("new");
        file.write_all(bytes).expect("it is written");
    }
}

/// The factor by which the sink takes longer for a tensor than the engine took to compute it.
const SLOWER: f64 = 100.0;

struct Slow {
    nanos_per_byte: f64,
}

impl Sink for Slow {
    fn piece(&mut self, _stream: &Stream, piece: Piece<'_>) -> Answer {
        std::thread::sleep(Duration::from_nanos((self.nanos_per_byte * piece.bytes.len() as f64) as u64));
        Answer::Continue
    }
}

const CAP: usize = 32 << 20;
/// The bytes that the runs compute in all, in multiples of the cap. A queue without a cap would take much more than the
/// cap.
const CAPS: usize = 8;

fn slow_sink(name: &str, ready: &Ready) {
    let largest = output_bytes(ready).max().unwrap_or(0);
    // The queue, the tensor that waits for space in it, and an eighth of the cap for the allocator's own needs.
    let bound = (CAP + CAP / 8 + largest) as f64 / MIB;
    let exact = child_says(&format!("exact {name}"));
    let unbounded = child_says(&format!("unbounded {name}")) - exact;
    // If a queue without a cap takes no more, the case shows nothing.
    let goal = Goal::AtMost(if unbounded > bound { bound } else { f64::NAN });
    for policy in ["block", "drop", "spill"] {
        let mut grown = Vec::new();
        let judged = decide(goal, || {
            grown.extend((0..times(3, 1)).map(|_| child_says(&format!("{policy} {name}")) - exact));
            Judged::alone(Measured::of(&grown))
        });
        let case = format!("growth, sink {SLOWER} times slower, {policy}, {name}");
        let peer = ("without a cap, MiB", unbounded);
        Case { bench: "dumps", case, judged, unit: "MiB", peer, floor: None, goal }.print();
    }
}

/// Starts this program as a child process, and returns the memory that it reports, in MiB.
fn child_says(mode: &str) -> f64 {
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new(program).env(CHILD, mode).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse::<f64>().unwrap_or_else(|_| panic!("{mode}: {output:?}")) / MIB
}

/// Prints the peak memory of a comparison, or the growth of this process during runs, in bytes.
fn child(mode: &str) {
    let (mode, rest) = mode.split_once(' ').expect("a mode and what it is about");
    if mode == "compare" {
        let (a, b) = rest.split_once(' ').expect("two dumps");
        assert!(compared(Path::new(a), Path::new(b)).is_same());
        return println!("{}", memory::peak());
    }
    let ready = ready(&light(rest).expect("the parent has it"), Fidelity::Exact);
    let calibration = calibration();
    // Runs before the growth is measured, because memory that the engine keeps between runs does not belong to the
    // dump.
    let nanos = median(&[(); 3].map(|()| exact(&ready, &calibration)));
    let bytes: usize = output_bytes(&ready).sum();
    let runs = times((CAPS * CAP).div_ceil(bytes), 2) as u64;
    let grown = growth(|| match mode {
        "exact" => (0..runs).for_each(|_| {
            exact(&ready, &calibration);
        }),
        _ => slow_runs(&ready, mode, runs, Slow { nanos_per_byte: times(SLOWER, 1.0) * nanos / bytes as f64 }),
    });
    println!("{grown}");
}

/// Runs with a slow sink.
fn slow_runs(ready: &Ready, policy: &str, runs: u64, sink: Slow) {
    let scratch = tempfile::tempdir().expect("there is a temporary directory");
    let cap = if policy == "unbounded" { 1 << 40 } else { CAP };
    let policy = match policy {
        "block" | "unbounded" => Policy::Block { patience: Flow::DEFAULT_PATIENCE },
        "drop" => Policy::Drop,
        _ => Policy::Spill { directory: scratch.path().into() },
    };
    let dumper = Dumper::new();
    let delivery = Some(Delivery::Queued(Flow { cap, policy }));
    dumper.subscribe(Box::new(sink), Request { delivery, ..Request::default() }).expect("it subscribes");
    (0..runs).for_each(|id| run(ready, &dumper, id));
    dumper.finish().expect("it is closed");
}

/// Compares two dumps of a gigabyte each.
fn compare(ready: &Ready, calibration: &Calibration) {
    let scratch = tempfile::tempdir().expect("there is a temporary directory");
    let (a, b) = (scratch.path().join("a"), scratch.path().join("b"));
    let mut bytes = 0;
    for root in [&a, &b] {
        let dumper = dumper(ready, directory(ready, root, Contents::Tensors), None);
        let mut runs = 0;
        bytes = 0;
        while bytes < times(1_000_000_000, 50_000_000) {
            run(ready, &dumper, runs);
            runs += 1;
            bytes += output_bytes(ready).sum::<usize>() as u64;
        }
        bytes = dumper.finish().expect("it is closed").subscriptions[0].delivered.bytes;
    }
    let files: Vec<PathBuf> = [&a, &b]
        .into_iter()
        .flat_map(|root| StoredDump::open(root).expect("it can be read").tensors)
        .filter_map(|tensor| tensor.file().map(Path::to_path_buf))
        .collect();
    let mut rounds = Rounds::new(
        ROUNDS,
        [
            Contender::new("reading both", || nanos(calibration, || read_files(&files))),
            Contender::new("comparing", || nanos(calibration, || assert!(compared(&a, &b).is_same()))),
        ],
    );
    let judged = rounds.decide_ratio(HALF, 0, 1);
    let peer = ("reading both, one thread, GB/s", 2.0 * bytes as f64 / rounds.cost(0).value);
    let case = format!("comparing two dumps of {:.2} GB", bytes as f64 / 1e9);
    Case { bench: "dumps", case, judged, unit: "x", peer, floor: None, goal: HALF }.print();
    let goal = Goal::AtMost(200.0);
    let mut memory = Vec::new();
    let judged = decide(goal, || {
        memory.extend((0..times(3, 1)).map(|_| child_says(&format!("compare {} {}", a.display(), b.display()))));
        Judged::alone(Measured::of(&memory))
    });
    let peer = ("both dumps, MiB", 2.0 * bytes as f64 / MIB);
    Case { bench: "dumps", case: "memory of comparing them".to_owned(), judged, unit: "MiB", peer, floor: None, goal }
        .print();
}

fn compared(a: &Path, b: &Path) -> Comparison {
    let open = |path: &Path| StoredDump::open(path).expect("it can be read");
    Comparison::of(&open(a), &open(b), &CompareOptions::default())
}

/// Reads every byte of every file once.
fn read_files(files: &[PathBuf]) {
    let mut buffer = vec![0; 256 << 10];
    for path in files {
        let mut file = File::open(path).expect("the file is there");
        loop {
            match file.read(&mut buffer).expect("it can be read") {
                0 => break,
                length => read_once(&buffer[..length]),
            }
        }
    }
}
