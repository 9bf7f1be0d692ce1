//! What opscope costs a run of ONNX Runtime: against the same library driven directly, in the same process, in turns.

mod direct;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use direct::Direct;
use opscope::Session;
use opscope::benchmark::{CaptureSpec, Job, JobHooks};
use opscope::dump::{Contents, DirectorySink, DumpInfo, Dumper, Request};
use opscope::engine::{EngineName, EngineSpec, GraphOptimizationLevel, Library};
use opscope::inputs::InputSpec;
use opscope::model::{Fidelity, Instrument, LoadOptions, NoObserver, RunId, RunInfo};
use opscope::onnx::Graph;
use opscope::profile::{Profiler, ProfilerOptions};
use opscope::tensor::Tensor;
use opscope::tensor::npy::read_file;
use opscope::verify::Verify;
use opscope_clock::Calibration;
use support::around::around;
use support::{Case, Goal, Pairs, Ready, calibration, median, nanos, noise, pairs, prepared, smallest};

const BENCH: &str = "engines";

/// The models of which the goals speak, and how many pairs of runs are enough.
const EXACT: [(&str, usize); 3] = [("minilm", 60), ("light_resnet50", 40), ("light_densenet121", 40)];

/// Models of operators so short that a tap is a large part of each.
const SMALL: [&str; 3] = ["light_shufflenet", "light_squeezenet", "light_inception_v2"];

/// The models whose runs are to be explained: all light ones, and the sentence encoder.
const EXPLAINED: [&str; 10] = [
    "minilm",
    "light_bvlc_alexnet",
    "light_densenet121",
    "light_inception_v1",
    "light_inception_v2",
    "light_resnet50",
    "light_shufflenet",
    "light_squeezenet",
    "light_vgg19",
    "light_zfnet512",
];

fn main() {
    let spec = EngineSpec { name: EngineName::OnnxRuntime, ..EngineSpec::default() };
    let library = match Library::find(None) {
        Ok(library) => library,
        Err(error) => return not_measured(&error.to_string()),
    };
    let calibration = calibration();
    match prepared("light_squeezenet.onnx") {
        Some(path) => optimised(&spec, &library, &path, &calibration),
        None => not_measured("OPSCOPE_LIGHT_MODELS is not set"),
    }
    for (name, count) in EXACT {
        match prepared(&format!("{name}.onnx")) {
            Some(path) => exact(&spec, &library, (name, &path), count, &calibration),
            None => not_measured(&format!("{name} is not there")),
        }
    }
    for name in SMALL {
        match prepared(&format!("{name}.onnx")) {
            Some(path) => each_operator(&spec, &library, (name, &path), &calibration),
            None => not_measured(&format!("{name} is not there")),
        }
    }
    for name in EXPLAINED {
        match prepared(&format!("{name}.onnx")) {
            Some(path) => explained(&spec, name, &path),
            None => not_measured(&format!("{name} is not there")),
        }
    }
    around(BENCH, "digits_cnn", &smallest(), &["--engine", "onnxruntime"]);
}

/// A group that could not be measured counts as missed.
fn not_measured(why: &str) {
    let why = why.lines().next().unwrap_or_default();
    let case = format!("all (not measured: {why})");
    let (peer, goal) = (String::new(), "every goal".to_owned());
    let (value, peer_value) = (f64::NAN, f64::NAN);
    Case { bench: BENCH, case, value, interval: None, unit: "", peer, peer_value, floor: None, goal, met: false }
        .print();
}

fn ready(spec: &EngineSpec, path: &Path, fidelity: Fidelity) -> Ready {
    let engine = spec.open().expect("the library was found");
    let options = LoadOptions::new(fidelity, NonZeroUsize::MIN);
    let session = Session::open_with(engine, path, &options).expect("the model loads");
    let inputs = inputs_of(path, session.graph());
    let plan = session.model().plan(&inputs).expect("the model can be planned");
    let resident = plan.upload(&inputs).expect("inputs fit");
    Ready { session, inputs, plan, resident }
}

/// The files of inputs that lie beside a model.
fn files_beside(path: &Path, graph: &Graph) -> Vec<PathBuf> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let file = |name: &str| {
        let name = name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
        path.with_file_name(format!("{stem}.input.{name}.npy"))
    };
    graph.inputs.iter().map(|&input| file(&graph.value(input).name)).collect()
}

fn inputs_of(path: &Path, graph: &Graph) -> Vec<Tensor> {
    files_beside(path, graph).iter().map(|file| read_file(file).expect("inputs lie beside the model")).collect()
}

/// A run by opscope, with an instrument or without.
fn ours(ready: &Ready, instrument: Option<&dyn Instrument>, run: u64, calibration: &Calibration) -> f64 {
    nanos(calibration, || {
        let (graph, fidelity) = (ready.session.graph(), ready.session.model().fidelity());
        let info = RunInfo { id: RunId(run), graph, kernels: ready.plan.kernels(), fidelity };
        let observer = instrument.map(|instrument| instrument.observe(&info));
        let observer = observer.as_deref().unwrap_or(&NoObserver);
        std::hint::black_box(ready.plan.run(RunId(run), &*ready.resident, observer).expect("it runs"));
    })
}

fn ratio(case: String, measured: &Pairs, peer: &str, most: f64, noise: f64) {
    let (value, interval) = measured.ratio();
    Case {
        bench: BENCH,
        case,
        value,
        interval: Some(interval),
        unit: "x",
        peer: format!("{peer}, ms"),
        peer_value: median(&measured.first) / 1e6,
        floor: Some(1.0),
        goal: format!("<= {most}"),
        met: Goal::AtMost(most).met(value, Some(interval), noise),
    }
    .print();
}

/// Prints how the library compares with itself, and returns its noise.
fn control(name: &str, one: &Direct, other: &Direct, count: usize, calibration: &Calibration) -> f64 {
    const CONTROL: f64 = 0.02;
    let time = |direct: &Direct| nanos(calibration, || direct.run(false));
    let measured = pairs(count, || time(one), || time(other));
    let (value, interval) = measured.ratio();
    let noise = noise(interval, 1.0);
    Case {
        bench: BENCH,
        case: format!("A/A control: the library against itself, {name}"),
        value,
        interval: Some(interval),
        unit: "x",
        peer: "the library driven directly, ms".to_owned(),
        peer_value: median(&measured.first) / 1e6,
        floor: None,
        goal: format!("the noise of the next cases: within 1 +- {CONTROL}"),
        met: noise <= CONTROL,
    }
    .print();
    noise
}

/// The library at its own speed.
fn optimised(spec: &EngineSpec, library: &Library, path: &Path, calibration: &Calibration) {
    const COUNT: usize = 120;
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let ready = ready(spec, path, Fidelity::Optimised);
    let direct = || {
        let level = GraphOptimizationLevel::All;
        Direct::load(library, path, level, ready.session.graph(), &ready.inputs, &directory.path().join("own"))
    };
    let (one, other) = (direct(), direct());
    let noise = control("squeezenet", &one, &other, COUNT, calibration);
    let bare = || nanos(calibration, || one.run(false));
    let measured = pairs(COUNT, bare, || ours(&ready, None, 0, calibration));
    ratio("without instruments, squeezenet".to_owned(), &measured, "the library driven directly", 1.01, noise);

    let recording = directory.path().join("recording");
    let info = ready.session.recording_info(1);
    let profiler = Profiler::create(&recording, &info, &ProfilerOptions::default()).expect("the recording can be made");
    let own = || {
        let time = nanos(calibration, || one.run(true));
        // Whoever reads the library's profiles removes them, too; that is not counted here.
        for entry in fs::read_dir(directory.path()).expect("the directory is there").flatten() {
            if entry.file_name().to_string_lossy().starts_with("own") {
                fs::remove_file(entry.path()).expect("the file can be removed");
            }
        }
        time
    };
    let measured = pairs(COUNT, own, || ours(&ready, Some(&profiler), 0, calibration));
    ratio("with profiler, squeezenet".to_owned(), &measured, "the library with its own profile", 1.02, noise);
    profiler.finish().expect("the recording is closed");
}

/// The library without optimisations, with taps before and behind every operator.
fn exact(spec: &EngineSpec, library: &Library, (name, path): (&str, &Path), count: usize, calibration: &Calibration) {
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let ready = ready(spec, path, Fidelity::Exact);
    let direct = || {
        let level = GraphOptimizationLevel::Disable;
        Direct::load(library, path, level, ready.session.graph(), &ready.inputs, &directory.path().join("own"))
    };
    let (one, other) = (direct(), direct());
    let noise = control(name, &one, &other, count, calibration);
    let bare = || nanos(calibration, || one.run(false));
    let plain = || ours(&ready, None, 0, calibration);
    let measured = pairs(count, bare, plain);
    ratio(format!("exact, nobody looks, {name}"), &measured, "the library without optimisations", 1.05, noise);

    let (engine, graph) = (ready.session.engine(), ready.session.graph());
    let info = DumpInfo::new(graph, Fidelity::Exact, engine.name(), engine.version());
    let sink = DirectorySink::create(&directory.path().join("dump"), Contents::Statistics, &info);
    let dumper = Dumper::new();
    dumper.subscribe(Box::new(sink.expect("a new directory")), Request::default()).expect("a sink");
    dumper.add_plan(&**ready.session.model(), &*ready.plan).expect("a plan");
    let mut run = 0;
    let dumped = || {
        run += 1;
        ours(&ready, Some(&dumper), run, calibration)
    };
    let measured = pairs(count, plain, dumped);
    ratio(format!("statistics of everything, {name}"), &measured, "exact, nobody looks", 1.15, noise);
    assert!(dumper.finish().expect("the dump is closed").is_complete());
}

/// What taps cost an operator when nobody looks.
fn each_operator(spec: &EngineSpec, library: &Library, (name, path): (&str, &Path), calibration: &Calibration) {
    const COUNT: usize = 120;
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let ready = ready(spec, path, Fidelity::Exact);
    let level = GraphOptimizationLevel::Disable;
    let load =
        || Direct::load(library, path, level, ready.session.graph(), &ready.inputs, &directory.path().join("own"));
    let (one, other) = (load(), load());
    let time = |direct: &Direct| nanos(calibration, || direct.run(false));
    let operators = ready.plan.kernels().len() as f64;
    let each = |(value, (low, high)): (f64, (f64, f64))| (value / operators, (low / operators, high / operators));
    let (_, itself) = each(pairs(COUNT, || time(&one), || time(&other)).difference());
    let measured = pairs(COUNT, || time(&one), || ours(&ready, None, 0, calibration));
    let (value, interval) = each(measured.difference());
    const MOST: f64 = 1000.0;
    Case {
        bench: BENCH,
        case: format!("exact, nobody looks, each operator, {name}"),
        value,
        interval: Some(interval),
        unit: "ns",
        peer: "the library's own time of one, ns".to_owned(),
        peer_value: median(&measured.first) / operators,
        floor: Some(0.0),
        goal: format!("<= {MOST} ns"),
        met: Goal::AtMost(MOST).met(value, Some(interval), noise(itself, 0.0)),
    }
    .print();
}

/// The share of a run that the times of operators explain.
fn explained(spec: &EngineSpec, name: &str, path: &Path) {
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let mut job = Job::new(path);
    job.engine = spec.clone();
    let graph = Graph::load(path).expect("the model can be read");
    job.inputs = InputSpec::Files { paths: files_beside(path, &graph).into(), join: false };
    job.repetition.loops = 20;
    job.repetition.warmups = 2;
    job.verify.when = Verify::Off;
    job.capture = CaptureSpec::Profile {
        directory: PathBuf::from(directory.path()).join("recording"),
        options: Box::new(ProfilerOptions::default()),
        exports: opscope::profile::Format::ALL.to_vec(),
        timeline_runs: opscope::profile::TimelineRuns::default(),
    };
    let report = job.run(&JobHooks::default()).expect("the model runs");
    let account = report.profile.and_then(|profile| profile.account).expect("there is an account");
    let shares = account.shares.as_ref().expect("runs and dispatches were recorded");
    // What taking the times adds is no part of the run that they explain.
    let left = |percent: f64| 100.0 * percent / (100.0 - shares.profile.percent);
    let value = left(shares.operators.percent + shares.added.percent);
    Case {
        bench: BENCH,
        case: format!("operators and conversions explain, {name}"),
        value,
        interval: None,
        unit: "%",
        peer: "operators alone, %".to_owned(),
        peer_value: left(shares.operators.percent),
        floor: None,
        goal: ">= 97 %".to_owned(),
        met: Goal::AtLeast(97.0).met(value, None, 0.0),
    }
    .print();
}
