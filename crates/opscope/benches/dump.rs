//! What a dump costs: the time beside a run without it and beside the bare writing of its files, and the memory.

mod support;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use opscope::dump::{About, Contents, DirectorySink, Dumper, Request};
use opscope::machine::peak_memory;
use opscope::model::{Fidelity, Instrument, NoObserver, RunId, RunInfo};
use opscope_clock::Calibration;
use support::{Case, Ready, calibration, light, median, nanos, not_measured, ready};

const ROUNDS: usize = 15;

fn main() {
    if let Some(mode) = std::env::var_os("OPSCOPE_DUMP_CHILD") {
        return child(&mode.to_string_lossy());
    }
    let calibration = calibration();
    for name in ["squeezenet", "resnet50"] {
        match light(name) {
            Some(path) => cost(name, &path, &calibration),
            None => not_measured("dump", &format!("time, {name}"), "<= 2 x writing the files"),
        }
    }
    match light("vgg19") {
        Some(path) => memory(&path),
        None => not_measured("dump", "memory, vgg19", "<= 256 MiB"),
    }
}

/// A run with a dump into a new directory, to the last byte.
fn dumped(ready: &Ready, directory: &Path) {
    let engine = ready.session.engine();
    let graph = ready.session.graph();
    let about = About::new(graph, Fidelity::Exact, engine.name(), engine.version());
    let sink = DirectorySink::create(directory, Contents::Tensors, &about).expect("the dump can be made");
    let dumper = Dumper::new();
    dumper.subscribe(Box::new(sink), Request::default()).expect("the sink subscribes");
    // What was computed at load is written once, whatever the number of runs: it is no part of a run's time.
    let info = RunInfo { id: RunId(0), graph, kernels: ready.plan.kernels(), fidelity: Fidelity::Exact };
    {
        let observer = dumper.observe(&info);
        std::hint::black_box(ready.plan.run(RunId(0), &*ready.resident, &*observer).expect("it runs"));
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
    dumped(&ready, &place("first", 0));
    let mut files = Vec::new();
    files_of(&place("first", 0), &mut files);
    let (mut ratios, mut writes, mut extras) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let exact = nanos(calibration, || {
            std::hint::black_box(ready.plan.run(RunId(0), &*ready.resident, &NoObserver).expect("it runs"));
        });
        let with_dump = nanos(calibration, || dumped(&ready, &place("dump", round)));
        let write = nanos(calibration, || write_files(&files, &place("write", round)));
        for kind in ["dump", "write"] {
            fs::remove_dir_all(place(kind, round)).expect("it can be removed");
        }
        ratios.push((with_dump - exact) / write);
        writes.push(write / 1e6);
        extras.push((with_dump - exact) / 1e6);
    }
    let bytes: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    let value = median(&ratios);
    Case {
        bench: "dump",
        case: format!("time, {name}: {} files, {:.1} MB, +{:.2} ms", files.len(), bytes as f64 / 1e6, median(&extras)),
        value,
        interval: opscope::benchmark::median_interval(&ratios),
        unit: "x",
        peer: "open, write, close of the same files, ms".to_owned(),
        peer_value: median(&writes),
        floor: Some(1.0),
        goal: "<= 2 x writing the files".to_owned(),
        met: value <= 2.0,
    }
    .print();
}

/// One run in a process of its own, which prints the most memory it had.
fn child(mode: &str) {
    let path = light("vgg19").expect("the parent has it");
    let ready = ready(&path, Fidelity::Exact);
    if mode == "dump" {
        let scratch = tempfile::tempdir().expect("there is a temporary directory");
        dumped(&ready, &scratch.path().join("dump"));
    } else {
        std::hint::black_box(ready.plan.run(RunId(0), &*ready.resident, &NoObserver).expect("it runs"));
    }
    println!("{}", peak_memory());
}

fn memory(path: &Path) {
    assert!(path.exists());
    let peak = |mode: &str| {
        let program = std::env::current_exe().expect("this program has a path");
        let output = Command::new(program).env("OPSCOPE_DUMP_CHILD", mode).output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout);
        text.trim().parse::<f64>().expect("it prints a number") / f64::from(1 << 20)
    };
    let (exact, dump) = (peak("exact"), peak("dump"));
    Case {
        bench: "dump",
        case: "memory above the exact run, vgg19".to_owned(),
        value: dump - exact,
        interval: None,
        unit: "MiB",
        peer: "exact run, MiB".to_owned(),
        peer_value: exact,
        floor: None,
        goal: "<= 256 MiB".to_owned(),
        met: dump - exact <= 256.0,
    }
    .print();
}
