//! What capturing tensors costs: a callback, files, statistics, memory under a slow sink, and comparing dumps.

mod support;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use opscope::benchmark::median_interval;
use opscope::dump::{
    Answer, CompareOptions, Comparison, Contents, Delivery, DirectorySink, DumpInfo, Dumper, Flow, Piece, Policy,
    Request, Sink, StoredDump, Stream,
};
use opscope::machine::peak_memory;
use opscope::model::{Fidelity, Instrument, NoObserver, RunId, RunInfo};
use opscope::tensor::Statistics;
use opscope_clock::Calibration;
use support::{
    Case, Goal, Ready, bound, calibration, growth, light, median, nanos, noise, not_measured, output_bytes, pairs,
    ready,
};

const MODELS: [&str; 2] = ["vgg19", "densenet121"];
/// Models whose runs compute more bytes of tensors than they have of weights.
const SMALL_WEIGHTS: [&str; 2] = ["squeezenet", "densenet121"];
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
        let control = pairs(PAIRS, || exact(&ready, &calibration), || exact(&ready, &calibration));
        let noise = noise(control.ratio().1, 1.0);
        callback(name, &ready, noise, &calibration);
        statistics(name, &ready, scratch.path(), noise, &calibration);
        files(name, &ready, scratch.path(), &calibration);
    }
    for name in SMALL_WEIGHTS {
        match light(name) {
            Some(path) => slow_sink(name, &ready(&path, Fidelity::Exact)),
            None => not_measured("dumps", &format!("memory, {name}"), "all"),
        }
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
    let info = DumpInfo::new(ready.session.graph(), Fidelity::Exact, engine.name(), engine.version());
    Box::new(DirectorySink::create(root, contents, &info).expect("the dump can be made"))
}

/// A callback against the exact run. The peer is stricter than a run whose tensors are kept.
fn callback(name: &str, ready: &Ready, noise: f64, calibration: &Calibration) {
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
        ("<= 1.1", Goal::AtMost(1.1), noise),
    );
}

fn statistics(name: &str, ready: &Ready, scratch: &Path, noise: f64, calibration: &Calibration) {
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
        ("<= 1.15", Goal::AtMost(1.15), noise),
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
    let (mut ratios, mut writes, mut controls) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..PAIRS {
        let exact = exact(ready, calibration);
        let with_dump = nanos(calibration, || dumped(&place("dump", round)));
        let write = nanos(calibration, || write_files(&contents, &place("write", round)));
        let again = nanos(calibration, || write_files(&contents, &place("again", round)));
        controls.push(again / write);
        for kind in ["dump", "write", "again"] {
            fs::remove_dir_all(place(kind, round)).expect("it can be removed");
        }
        ratios.push((with_dump - exact) / write);
        writes.push(write / 1e6);
    }
    let value = median(&ratios);
    let noise = median_interval(&controls).map_or(0.0, |interval| noise(interval, 1.0));
    let label = format!("npy files, {name}: {} files", contents.len());
    case(
        label,
        value,
        median_interval(&ratios),
        "x",
        ("open, write, close, ms", median(&writes)),
        ("<= 1.25", Goal::AtMost(1.25), noise),
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
        (">= 0.5", Goal::AtLeast(0.5), 0.0),
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

/// A sink that takes so many times as long for a tensor as the engine took to compute it.
const SLOWER: f64 = 10.0;

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
/// What the runs compute in all, in caps, so that a queue without a cap would take much more.
const CAPS: usize = 8;

fn slow_sink(name: &str, ready: &Ready) {
    let largest = output_bytes(ready).max().unwrap_or(0);
    let bound = bound(CAP, largest);
    let exact = child_says(&format!("exact {name}"));
    let unbounded = child_says(&format!("unbounded {name}")) - exact;
    for policy in ["block", "drop", "spill"] {
        let value = child_says(&format!("{policy} {name}")) - exact;
        let label = format!("growth, sink {SLOWER} times slower, {policy}, {name}");
        let goal = format!("<= {bound:.0} MiB, which a queue without a cap exceeds");
        // Where it does not, nothing is shown.
        let goal = (goal.as_str(), Goal::AtMost(if unbounded > bound { bound } else { f64::NAN }), 0.0);
        case(label, value, None, "MiB", ("without a cap, MiB", unbounded), goal);
    }
}

/// What another process of this program says of its memory, in MiB.
fn child_says(mode: &str) -> f64 {
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new(program).env(CHILD, mode).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse::<f64>().unwrap_or_else(|_| panic!("{mode}: {output:?}")) / MIB
}

/// Prints how much memory comparing took in all, or how much this process grew by runs.
fn child(mode: &str) {
    let (mode, rest) = mode.split_once(' ').expect("a mode and what it is about");
    if mode == "compare" {
        let (a, b) = rest.split_once(' ').expect("two dumps");
        assert!(compared(Path::new(a), Path::new(b)).is_same());
        return println!("{}", peak_memory());
    }
    let ready = ready(&light(rest).expect("the parent has it"), Fidelity::Exact);
    let calibration = calibration();
    // Before the growth is measured: what the engine keeps from run to run is no dump's.
    let nanos = median(&[(); 3].map(|()| exact(&ready, &calibration)));
    let bytes: usize = output_bytes(&ready).sum();
    let runs = (CAPS * CAP).div_ceil(bytes) as u64;
    let grown = growth(|| match mode {
        "exact" => (0..runs).for_each(|_| {
            exact(&ready, &calibration);
        }),
        _ => slow_runs(&ready, mode, runs, Slow { nanos_per_byte: SLOWER * nanos / bytes as f64 }),
    });
    println!("{grown}");
}

/// Runs with a sink that is slow.
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
    case(
        label,
        value,
        Some(interval),
        "x",
        ("reading both, one thread, GB/s", read),
        (">= 0.5", Goal::AtLeast(0.5), 0.0),
    );
    let memory = child_says(&format!("compare {} {}", a.display(), b.display()));
    case("memory of comparing them".into(), memory, None, "MiB", ("", 0.0), ("<= 200 MiB", Goal::AtMost(200.0), 0.0));
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
    (text, goal, noise): (&str, Goal, f64),
) {
    let (peer, met, goal) = (peer.to_owned(), goal.met(value, interval, noise), text.to_owned());
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
