//! What capturing tensors costs: a callback, files, statistics, memory under a slow sink, and comparing dumps.

mod support;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use opscope::benchmark::median_interval;
use opscope::dump::{
    About, Answer, CompareOptions, Comparison, Contents, Delivery, DirectorySink, Dumper, Flow, Piece, Policy, Request,
    Sink, StoredDump, Stream,
};
use opscope::machine::peak_memory;
use opscope::model::{Fidelity, Instrument, NoObserver, RunId, RunInfo};
use opscope::tensor::Statistics;
use opscope_clock::Calibration;
use support::{Case, Ready, calibration, light, median, nanos, not_measured, pairs, ready};

const MODELS: [&str; 2] = ["vgg19", "densenet121"];
const PAIRS: usize = 15;
const CHILD: &str = "OPSCOPE_DUMPS_CHILD";
const MIB: f64 = (1 << 20) as f64;

fn main() {
    if let Ok(mode) = std::env::var(CHILD) {
        return child(&mode);
    }
    let calibration = calibration();
    for name in MODELS {
        let Some(path) = light(name) else {
            not_measured("dumps", name, "all");
            continue;
        };
        let ready = ready(&path, Fidelity::Exact);
        let scratch = tempfile::tempdir().expect("there is a temporary directory");
        callback(name, &ready, &calibration);
        statistics(name, &ready, scratch.path(), &calibration);
        files(name, &ready, scratch.path(), &calibration);
        slow_sink(name, &ready);
    }
    match light("vgg19") {
        Some(path) => compare(&ready(&path, Fidelity::Exact), &calibration),
        None => not_measured("dumps", "comparing", ">= half of the read bandwidth"),
    }
}

/// Only counts.
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

/// A dumper with one sink of this kind, into a directory that is not there yet.
fn dumper(ready: &Ready, sink: Box<dyn Sink>, delivery: Option<Delivery>) -> Dumper {
    let dumper = Dumper::new();
    dumper.subscribe(sink, Request { delivery, ..Request::default() }).expect("the sink subscribes");
    dumper.add_plan(&**ready.session.model(), &*ready.plan).expect("the plan is known");
    dumper
}

fn directory(ready: &Ready, root: &Path, contents: Contents) -> Box<dyn Sink> {
    let engine = ready.session.engine();
    let about = About::new(ready.session.graph(), Fidelity::Exact, engine.name(), engine.version());
    Box::new(DirectorySink::create(root, contents, &about).expect("the dump can be made"))
}

/// A callback against the exact run. The peer is stricter than a run whose tensors are kept.
fn callback(name: &str, ready: &Ready, calibration: &Calibration) {
    let dumper = dumper(ready, Box::new(Count(0)), Some(Delivery::Direct));
    let mut id = 0;
    let pairs = pairs(
        PAIRS,
        || exact(ready, calibration),
        || {
            id += 1;
            nanos(calibration, || run(ready, &dumper, id))
        },
    );
    let (value, interval) = pairs.ratio();
    case(
        format!("callback that counts, {name}"),
        value,
        Some(interval),
        "x",
        ("exact run, ms", median(&pairs.first) / 1e6),
        "<= 1.1",
        value <= 1.1,
    );
}

fn statistics(name: &str, ready: &Ready, scratch: &Path, calibration: &Calibration) {
    let root = scratch.join("statistics");
    let dumper = dumper(ready, directory(ready, &root, Contents::Statistics), None);
    let mut id = 0;
    let pairs = pairs(
        PAIRS,
        || exact(ready, calibration),
        || {
            id += 1;
            nanos(calibration, || run(ready, &dumper, id))
        },
    );
    assert!(dumper.finish().expect("it is closed").is_complete());
    let (value, interval) = pairs.ratio();
    case(
        format!("statistics only, {name}"),
        value,
        Some(interval),
        "x",
        ("exact run, ms", median(&pairs.first) / 1e6),
        "<= 1.15",
        value <= 1.15,
    );
}

/// The dump against the bare writing of its files; and, on its tensors, statistics against reading them.
fn files(name: &str, ready: &Ready, scratch: &Path, calibration: &Calibration) {
    let place = |kind: &str, round: usize| scratch.join(format!("{kind}{round}"));
    let dumped = |root: &Path| {
        let dumper = Dumper::new();
        dumper.subscribe(directory(ready, root, Contents::Tensors), Request::default()).expect("the sink subscribes");
        // What was computed at load is written once, whatever the number of runs: it is no part of a run's time.
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
    let (mut ratios, mut writes) = (Vec::new(), Vec::new());
    for round in 0..PAIRS {
        let exact = exact(ready, calibration);
        let with_dump = nanos(calibration, || dumped(&place("dump", round)));
        let write = nanos(calibration, || write_files(&contents, &place("write", round)));
        for kind in ["dump", "write"] {
            fs::remove_dir_all(place(kind, round)).expect("it can be removed");
        }
        ratios.push((with_dump - exact) / write);
        writes.push(write / 1e6);
    }
    let value = median(&ratios);
    let label = format!("npy files, {name}: {} files", contents.len());
    case(
        label,
        value,
        median_interval(&ratios),
        "x",
        ("open, write, close, ms", median(&writes)),
        "<= 1.25",
        value <= 1.25,
    );

    let bytes: usize = tensors.iter().map(|tensor| tensor.bytes().len()).sum();
    let reading = pairs(
        PAIRS,
        || nanos(calibration, || tensors.iter().for_each(|tensor| read_once(tensor.bytes()))),
        || {
            nanos(calibration, || {
                for tensor in &tensors {
                    std::hint::black_box(Statistics::of(&tensor.view()).expect("floats have statistics"));
                }
            })
        },
    );
    let (value, interval) = reading.over_inverse();
    let read = bytes as f64 / median(&reading.first);
    case(
        format!("statistics' bandwidth, {name}"),
        value,
        Some(interval),
        "x",
        ("read, one thread, GB/s", read),
        ">= 0.5",
        value >= 0.5,
    );
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

/// A sink that takes a hundred times as long as the engine, for so long that the queue has long been full; then it
/// takes the rest at once, so that the measurement ends.
struct Slow {
    per_byte: f64,
    until: Instant,
}

impl Sink for Slow {
    fn piece(&mut self, _stream: &Stream, piece: Piece<'_>) -> Answer {
        if Instant::now() < self.until {
            std::thread::sleep(Duration::from_nanos((self.per_byte * piece.bytes.len() as f64) as u64));
        }
        Answer::Continue
    }
}

const CAP: usize = 32 << 20;

fn slow_sink(name: &str, ready: &Ready) {
    let largest = output_bytes(ready).max().unwrap_or(0) as f64 / MIB;
    let goal = CAP as f64 / MIB + largest + 32.0;
    let run = peak(&format!("exact {name}"));
    for policy in ["block", "drop", "spill"] {
        let value = peak(&format!("{policy} {name}")) - run;
        let label = format!("memory, sink 100 times slower, {policy}, {name}");
        case(label, value, None, "MiB", ("exact run, MiB", run), &format!("<= {goal:.0} MiB"), value <= goal);
    }
}

/// The bytes of every tensor that a run computes.
fn output_bytes(ready: &Ready) -> impl Iterator<Item = usize> {
    let tensors = ready.plan.kernels().iter().flat_map(|kernel| &kernel.output_types);
    tensors.filter_map(|tensor| Some(tensor.shape.iter().product::<usize>() * tensor.dtype?.size()?))
}

/// The most memory that another process of this program had, in MiB.
fn peak(mode: &str) -> f64 {
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new(program).env(CHILD, mode).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse::<f64>().unwrap_or_else(|_| panic!("{mode}: {output:?}")) / MIB
}

fn child(mode: &str) {
    let (mode, rest) = mode.split_once(' ').expect("a mode and what it is about");
    if mode == "compare" {
        let (a, b) = rest.split_once(' ').expect("two dumps");
        assert!(compared(Path::new(a), Path::new(b)).is_same());
    } else {
        let ready = ready(&light(rest).expect("the parent has it"), Fidelity::Exact);
        let calibration = calibration();
        let nanos = exact(&ready, &calibration);
        if mode != "exact" {
            slow_run(&ready, mode, nanos);
        }
    }
    println!("{}", peak_memory());
}

/// A run with a sink that is slow at first.
fn slow_run(ready: &Ready, policy: &str, nanos: f64) {
    let scratch = tempfile::tempdir().expect("there is a temporary directory");
    let bytes: usize = output_bytes(ready).sum();
    let per_byte = 100.0 * nanos / bytes as f64;
    let policy = match policy {
        "block" => Policy::Block { patience: Flow::DEFAULT_PATIENCE },
        "drop" => Policy::Drop,
        _ => Policy::Spill { directory: scratch.path().into() },
    };
    let dumper = Dumper::new();
    let until = Instant::now() + Duration::from_secs(3);
    let delivery = Some(Delivery::Queued(Flow { cap: CAP, policy }));
    dumper
        .subscribe(Box::new(Slow { per_byte, until }), Request { delivery, ..Request::default() })
        .expect("it subscribes");
    run(ready, &dumper, 0);
    dumper.finish().expect("it is closed");
}

/// Two dumps of a gigabyte.
fn compare(ready: &Ready, calibration: &Calibration) {
    let scratch = tempfile::tempdir().expect("there is a temporary directory");
    let (a, b) = (scratch.path().join("a"), scratch.path().join("b"));
    let mut bytes = 0;
    for root in [&a, &b] {
        let dumper = dumper(ready, directory(ready, root, Contents::Tensors), None);
        let mut runs = 0;
        bytes = 0;
        while bytes < 1_000_000_000 {
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
    let pairs = pairs(
        PAIRS,
        || nanos(calibration, || read_files(&files)),
        || nanos(calibration, || assert!(compared(&a, &b).is_same())),
    );
    let (value, interval) = pairs.over_inverse();
    let read = 2.0 * bytes as f64 / median(&pairs.first);
    let label = format!("comparing two dumps of {:.2} GB", bytes as f64 / 1e9);
    case(label, value, Some(interval), "x", ("reading both, one thread, GB/s", read), ">= 0.5", value >= 0.5);
    let memory = peak(&format!("compare {} {}", a.display(), b.display()));
    case("memory of comparing them".into(), memory, None, "MiB", ("", 0.0), "< 200 MiB", memory < 200.0);
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

fn case(
    case: String,
    value: f64,
    interval: Option<(f64, f64)>,
    unit: &'static str,
    (peer, peer_value): (&str, f64),
    goal: &str,
    met: bool,
) {
    let (peer, goal) = (peer.to_owned(), goal.to_owned());
    Case { bench: "dumps", case, value, interval, unit, peer, peer_value, floor: None, goal, met }.print();
}

trait Inverse {
    fn over_inverse(&self) -> (f64, (f64, f64));
}

impl Inverse for support::Pairs {
    /// The median of first / second: of bandwidths, where these are times.
    fn over_inverse(&self) -> (f64, (f64, f64)) {
        let (value, (low, high)) = self.ratio();
        (1.0 / value, (1.0 / high, 1.0 / low))
    }
}
