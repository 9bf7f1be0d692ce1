//! Measures what opscope costs a run of ONNX Runtime, compared with the same library driven directly, in turns in the
//! same process.

mod direct;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use direct::Direct;
use opscope::Session;
use opscope::dump::{Contents, DirectorySink, DumpInfo, Dumper, Request};
use opscope::engine::{EngineName, EngineSpec, GraphOptimizationLevel, Library};
use opscope::model::{Fidelity, Instrument, LoadOptions, NoObserver, RunId, RunInfo};
use opscope::onnx::Graph;
use opscope::profile::{Profiler, ProfilerOptions, Shares};
use opscope::tensor::Tensor;
use opscope::tensor::npy::read_file;
use opscope_bench::{Case, Contender, Goal, Judged, Measured, Rounds, decide, finish, median, not_measured, times};
use opscope_clock::Calibration;
use opscope_job::benchmark::{CaptureSpec, Job, JobHooks};
use opscope_job::inputs::InputSpec;
use opscope_job::verify::Verify;
use support::around::around;
use support::{NO_MODELS, Ready, calibration, nanos, prepared, smallest};

const BENCH: &str = "engines";

/// The models that the goals are about, and the number of rounds that are measured at once.
const EXACT: [(&str, usize); 3] = [("minilm", 60), ("light_resnet50", 40), ("light_densenet121", 40)];

/// Models with operators so short that a tap is a large part of each.
const SMALL: [&str; 3] = ["light_shufflenet", "light_squeezenet", "light_inception_v2"];

/// The models whose runs the account should explain: all light ones, and the sentence encoder.
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

fn main() -> ExitCode {
    let spec = EngineSpec { name: EngineName::OnnxRuntime, ..EngineSpec::default() };
    let missing = |case: &str, why: &str| {
        let why = why.lines().next().unwrap_or_default();
        not_measured(BENCH, case, Goal::AtMost(1.0), "x", why);
    };
    let library = match Library::find(None) {
        Ok(library) => library,
        Err(error) => {
            missing("all", &error.to_string());
            return finish();
        }
    };
    let calibration = calibration();
    match prepared("light_squeezenet.onnx") {
        Some(path) => optimised(&spec, &library, &path, &calibration),
        None => missing("all", NO_MODELS),
    }
    for (name, step) in EXACT {
        match prepared(&format!("{name}.onnx")) {
            Some(path) => exact(&spec, &library, (name, &path), step, &calibration),
            None => missing(name, "it is not there"),
        }
    }
    for name in SMALL {
        match prepared(&format!("{name}.onnx")) {
            Some(path) => each_operator(&spec, &library, (name, &path), &calibration),
            None => missing(name, "it is not there"),
        }
    }
    for name in EXPLAINED {
        match prepared(&format!("{name}.onnx")) {
            Some(path) => explained(&spec, name, &path),
            None => missing(name, "it is not there"),
        }
    }
    around(BENCH, "digits_cnn", &smallest(), &["--engine", "onnxruntime"]);
    finish()
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

/// Returns the files of inputs beside a model.
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

/// Runs once with opscope, with an instrument or without one. Returns the time of the run.
fn ours(ready: &Ready, instrument: Option<&dyn Instrument>, run: u64, calibration: &Calibration) -> f64 {
    nanos(calibration, || {
        let (graph, fidelity) = (ready.session.graph(), ready.session.model().fidelity());
        let info = RunInfo { id: RunId(run), graph, kernels: ready.plan.kernels(), fidelity };
        let observer = instrument.map(|instrument| instrument.observe(&info));
        let observer = observer.as_deref().unwrap_or(&NoObserver);
        std::hint::black_box(ready.plan.run(RunId(run), &*ready.resident, observer).expect("it runs"));
    })
}

/// Compares the second of two contenders with the first, until the goal is decided.
fn ratio(case: String, step: usize, contenders: [Contender<'_>; 2], peer: &str, most: f64) {
    let goal = Goal::AtMost(most);
    let mut rounds = Rounds::new(step, contenders);
    let judged = rounds.decide_ratio(goal, 1, 0);
    let peer = (peer, rounds.cost(0).value / 1e6);
    Case { bench: BENCH, case, judged, unit: "x", peer, floor: Some(1.0), goal }.print();
}

/// Measures the library at its own speed.
fn optimised(spec: &EngineSpec, library: &Library, path: &Path, calibration: &Calibration) {
    const STEP: usize = 120;
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let ready = ready(spec, path, Fidelity::Optimised);
    let own = directory.path().join("own");
    let direct = Direct::load(library, path, GraphOptimizationLevel::All, ready.session.graph(), &ready.inputs, &own);
    let bare = Contender::new("the library", || nanos(calibration, || direct.run(false)));
    let plain = Contender::new("without instruments", || ours(&ready, None, 0, calibration));
    let case = "without instruments, squeezenet".to_owned();
    ratio(case, STEP, [bare, plain], "the library driven directly, ms", 1.01);

    let recording = directory.path().join("recording");
    let info = ready.session.recording_info(1);
    let profiler = Profiler::create(&recording, &info, &ProfilerOptions::default()).expect("the recording can be made");
    let profiled_by_itself = Contender::new("the library with its own profile", || {
        let time = nanos(calibration, || direct.run(true));
        // A reader of the library's profiles also removes them. That is not counted here.
        for entry in fs::read_dir(directory.path()).expect("the directory is there").flatten() {
            if entry.file_name().to_string_lossy().starts_with("own") {
                fs::remove_file(entry.path()).expect("the file can be removed");
            }
        }
        time
    });
    let profiled = Contender::new("with the profiler", || ours(&ready, Some(&profiler), 0, calibration));
    let case = "with profiler, squeezenet".to_owned();
    ratio(case, STEP, [profiled_by_itself, profiled], "the library with its own profile, ms", 1.02);
    profiler.finish().expect("the recording is closed");
}

/// Measures the library without optimisations, with taps before and after every operator.
fn exact(spec: &EngineSpec, library: &Library, (name, path): (&str, &Path), step: usize, calibration: &Calibration) {
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let ready = ready(spec, path, Fidelity::Exact);
    let own = directory.path().join("own");
    let direct =
        Direct::load(library, path, GraphOptimizationLevel::Disable, ready.session.graph(), &ready.inputs, &own);
    let plain = || Contender::new("exact", || ours(&ready, None, 0, calibration));
    let bare = Contender::new("the library", || nanos(calibration, || direct.run(false)));
    let case = format!("exact, no observer, {name}");
    ratio(case, step, [bare, plain()], "the library without optimisations, ms", 1.05);

    let (engine, graph) = (ready.session.engine(), ready.session.graph());
    let info = DumpInfo::new(graph, Fidelity::Exact, engine.name(), engine.version());
    let sink = DirectorySink::create(&directory.path().join("dump"), Contents::Statistics, &info);
    let dumper = Dumper::new();
    dumper.subscribe(Box::new(sink.expect("a new directory")), Request::default()).expect("a sink");
    dumper.add_plan(&**ready.session.model(), &*ready.plan).expect("a plan");
    let mut run = 0;
    let dumped = Contender::new("with the dumper", || {
        run += 1;
        ours(&ready, Some(&dumper), run, calibration)
    });
    let case = format!("statistics of everything, {name}");
    ratio(case, step, [plain(), dumped], "exact, no observer, ms", 1.15);
    assert!(dumper.finish().expect("the dump is closed").is_complete());
}

/// Measures what taps cost an operator while nothing observes it.
fn each_operator(spec: &EngineSpec, library: &Library, (name, path): (&str, &Path), calibration: &Calibration) {
    let goal = Goal::AtMost(1000.0);
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let ready = ready(spec, path, Fidelity::Exact);
    let own = directory.path().join("own");
    let direct =
        Direct::load(library, path, GraphOptimizationLevel::Disable, ready.session.graph(), &ready.inputs, &own);
    let operators = ready.plan.kernels().len() as f64;
    let mut rounds = Rounds::new(
        120,
        [
            Contender::new("the library", || nanos(calibration, || direct.run(false))),
            Contender::new("exact", || ours(&ready, None, 0, calibration)),
        ],
    );
    let judged = rounds.decide_difference(goal, 1, 0, 1.0 / operators);
    let peer = ("the library's own time of one, ns", rounds.cost(0).value / operators);
    let case = format!("exact, no observer, each operator, {name}");
    Case { bench: BENCH, case, judged, unit: "ns", peer, floor: None, goal }.print();
}

/// Measures the share of a run that the times of operators explain.
fn explained(spec: &EngineSpec, name: &str, path: &Path) {
    let goal = Goal::AtLeast(97.0);
    let [mut alone, mut between] = [const { Vec::new() }; 2];
    let judged = decide(goal, || {
        for _ in 0..times(9, 1) {
            let shares = shares(spec, path);
            // The cost of taking the times is not part of the run that they explain.
            let left = |percent: f64| 100.0 * percent / (100.0 - shares.profile.percent);
            alone.push(left(shares.operators.percent));
            between.push(left(shares.between.percent));
        }
        Judged::alone(Measured::of(&alone))
    });
    let (case, peer) = (format!("operators explain, {name}"), ("between operators, %", median(&between)));
    Case { bench: BENCH, case, judged, unit: "%", peer, floor: None, goal }.print();
}

/// Returns the account of a profiled run.
fn shares(spec: &EngineSpec, path: &Path) -> Shares {
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let mut job = Job::new(path);
    job.engine = spec.clone();
    let graph = Graph::load(path).expect("the model can be read");
    job.inputs = InputSpec::Files { paths: files_beside(path, &graph).into(), join: false };
    job.repetition.loops = times(20, 2);
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
    account.shares.expect("runs and dispatches were recorded")
}
