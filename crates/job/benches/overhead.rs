//! Measures what opscope costs a run: without instruments compared with the engine's own run, and with the profiler.

mod support;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use opscope::model::{Fidelity, Instrument, NoObserver, RunId, RunInfo, RunObserver};
use opscope::profile::{Profiler, ProfilerOptions};
use opscope_bench::{Case, Contender, Goal, Rounds, finish, median, not_measured};
use opscope_clock::Calibration;
use support::{NO_MODELS, Ready, calibration, light, nanos, ready, smallest};
use tract_onnx::prelude::{
    Framework, InferenceFact, InferenceModelExt, TValue, Tensor, TypedSimplePlan, TypedSimpleState, tvec,
};

/// The number of rounds that are measured at once. With this many, the noise of a shared machine stays below a
/// hundredth.
const ROUNDS: usize = 200;
const WITHOUT: Goal = Goal::AtMost(1.01);
const PROFILED: Goal = Goal::AtMost(1.02);

fn main() -> ExitCode {
    let calibration = calibration();
    match light("squeezenet") {
        Some(squeezenet) => {
            without_instruments(&squeezenet, &calibration);
            with_profiler(&squeezenet, &calibration);
        }
        None => {
            not_measured("overhead", "without instruments, squeezenet", WITHOUT, "x", NO_MODELS);
            not_measured("overhead", "with profiler, squeezenet", PROFILED, "x", NO_MODELS);
        }
    }
    smallest_model(&calibration);
    finish()
}

/// The engine as a program without opscope would use it.
struct Bare {
    state: TypedSimpleState,
    /// The same memory in every run, as with opscope. An input that was copied just before the run would be in the
    /// caches.
    input: TValue,
}

impl Bare {
    fn load(path: &Path, ready: &Ready) -> Self {
        let input = &ready.inputs[0];
        let fact = InferenceFact::dt_shape(f32::datum(), input.shape());
        let model = tract_onnx::onnx().model_for_path(path).expect("the model loads");
        let model = model.with_input_fact(0, fact).expect("the shape fits").into_optimized().expect("it is optimised");
        let plan = TypedSimplePlan::new(model).expect("it is planned");
        let values: Vec<f32> = input
            .bytes()
            .chunks_exact(4)
            .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            .collect();
        let input = Tensor::from_shape(input.shape(), &values).expect("the shape fits");
        Self { state: plan.spawn().expect("it is spawned"), input: TValue::from_const(Arc::new(input)) }
    }

    fn run(&mut self, calibration: &Calibration) -> f64 {
        nanos(calibration, || {
            std::hint::black_box(self.state.run(tvec!(self.input.clone())).expect("it runs"));
        })
    }
}

trait DatumOf {
    fn datum() -> tract_onnx::prelude::DatumType;
}

impl DatumOf for f32 {
    fn datum() -> tract_onnx::prelude::DatumType {
        tract_onnx::prelude::DatumType::F32
    }
}

fn plain(ready: &Ready, calibration: &Calibration) -> f64 {
    nanos(calibration, || {
        std::hint::black_box(ready.plan.run(RunId(0), &*ready.resident, &NoObserver).expect("it runs"));
    })
}

fn without_instruments(path: &Path, calibration: &Calibration) {
    let ready = ready(path, Fidelity::Optimised);
    let mut bare = Bare::load(path, &ready);
    let mut rounds = Rounds::new(
        ROUNDS,
        [
            Contender::new("the engine's own run", || bare.run(calibration)),
            Contender::new("without instruments", || plain(&ready, calibration)),
        ],
    );
    let judged = rounds.decide_ratio(WITHOUT, 1, 0);
    let peer = ("engine's own run, ms", rounds.cost(0).value / 1e6);
    let case = "without instruments, squeezenet".to_owned();
    Case { bench: "overhead", case, judged, unit: "x", peer, floor: None, goal: WITHOUT }.print();
}

/// Returns a profiler as `--profiler` creates it.
fn profiler(ready: &Ready, directory: &Path) -> Profiler {
    Profiler::create(directory, &ready.session.recording_info(1), &ProfilerOptions::default())
        .expect("the recording can be made")
}

fn profiled(ready: &Ready, profiler: &Profiler, calibration: &Calibration) -> f64 {
    nanos(calibration, || {
        let graph = ready.session.graph();
        let info = RunInfo { id: RunId(0), graph, kernels: ready.plan.kernels(), fidelity: Fidelity::Optimised };
        let observer: Box<dyn RunObserver + '_> = profiler.observe(&info);
        std::hint::black_box(ready.plan.run(RunId(0), &*ready.resident, &*observer).expect("it runs"));
    })
}

fn with_profiler(path: &Path, calibration: &Calibration) {
    let ready = ready(path, Fidelity::Optimised);
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let profiler = profiler(&ready, &directory.path().join("recording"));
    let mut rounds = Rounds::new(
        ROUNDS,
        [
            Contender::new("without instruments", || plain(&ready, calibration)),
            Contender::new("with the profiler", || profiled(&ready, &profiler, calibration)),
        ],
    );
    let judged = rounds.decide_ratio(PROFILED, 1, 0);
    let peer = ("without instruments, ms", rounds.cost(0).value / 1e6);
    let case = "with profiler, squeezenet".to_owned();
    Case { bench: "overhead", case, judged, unit: "x", peer, floor: None, goal: PROFILED }.print();
    drop(rounds);
    profiler.finish().expect("the recording is closed");
}

fn smallest_model(calibration: &Calibration) {
    const RUNS: usize = 200;
    let goal = Goal::AtMost(80.0);
    let ready = ready(&smallest(), Fidelity::Optimised);
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let profiler = profiler(&ready, &directory.path().join("recording"));
    let block = |one: &dyn Fn() -> f64| (0..RUNS).map(|_| one()).sum::<f64>() / RUNS as f64;
    let mut rounds = Rounds::new(
        ROUNDS,
        [
            Contender::new("without instruments", || block(&|| plain(&ready, calibration))),
            Contender::new("with the profiler", || block(&|| profiled(&ready, &profiler, calibration))),
        ],
    );
    let judged = rounds.decide_difference(goal, 1, 0, 1.0 / ready.plan.kernels().len() as f64);
    let peer = ("run without instruments, ns", rounds.cost(0).value);
    let two_clocks = median(&(0..1000).map(|_| nanos(calibration, || ())).collect::<Vec<_>>()) * 2.0;
    let case = "profiler per dispatch, digits_cnn".to_owned();
    Case { bench: "overhead", case, judged, unit: "ns", peer, floor: Some(two_clocks), goal }.print();
    drop(rounds);
    profiler.finish().expect("the recording is closed");
}
