//! What opscope costs a run: without instruments against the engine's own run, and with the profiler.

mod support;

use std::path::Path;
use std::sync::Arc;

use opscope::model::{Fidelity, Instrument, NoObserver, RunId, RunInfo, RunObserver};
use opscope::profile::{Profiler, ProfilerOptions};
use opscope_clock::Calibration;
use support::{Case, Goal, Ready, calibration, light, median, nanos, noise, not_measured, pairs, ready, smallest};
use tract_onnx::prelude::{
    Framework, InferenceFact, InferenceModelExt, TValue, Tensor, TypedSimplePlan, TypedSimpleState, tvec,
};

/// So many that the noise of a shared machine stays below a hundredth.
const PAIRS: usize = 400;

fn main() {
    let calibration = calibration();
    let Some(squeezenet) = light("squeezenet") else {
        not_measured("overhead", "without instruments, squeezenet", "<= 1.01");
        not_measured("overhead", "with profiler, squeezenet", "<= 1.02");
        return smallest_model(&calibration);
    };
    let noise = without_instruments(&squeezenet, &calibration);
    with_profiler(&squeezenet, noise, &calibration);
    smallest_model(&calibration);
}

/// The engine as a program would use it that knows nothing of opscope.
struct Bare {
    state: TypedSimpleState,
    /// The same memory in every run, as opscope's: what was copied just before a run would be in the caches.
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

/// Gives the noise of the engine against itself.
fn without_instruments(path: &Path, calibration: &Calibration) -> f64 {
    /// What the control may show, so that the goals can be distinguished from noise.
    const CONTROL: f64 = 0.01;
    let ready = ready(path, Fidelity::Optimised);
    let (mut bare, mut again) = (Bare::load(path, &ready), Bare::load(path, &ready));
    let control = pairs(PAIRS, || bare.run(calibration), || again.run(calibration));
    let (value, interval) = control.ratio();
    Case {
        bench: "overhead",
        case: "A/A control: the engine against itself".to_owned(),
        value,
        interval: Some(interval),
        unit: "x",
        peer: "engine's own run, ms".to_owned(),
        peer_value: median(&control.first) / 1e6,
        floor: None,
        goal: format!("the noise of the next cases: within 1 +- {CONTROL}"),
        met: noise(interval, 1.0) <= CONTROL,
    }
    .print();
    let noise = noise(interval, 1.0);
    let measured = pairs(PAIRS, || bare.run(calibration), || plain(&ready, calibration));
    let (value, interval) = measured.ratio();
    Case {
        bench: "overhead",
        case: "without instruments, squeezenet".to_owned(),
        value,
        interval: Some(interval),
        unit: "x",
        peer: "engine's own run, ms".to_owned(),
        peer_value: median(&measured.first) / 1e6,
        floor: Some(1.0),
        goal: "<= 1.01".to_owned(),
        met: Goal::AtMost(1.01).met(value, Some(interval), noise),
    }
    .print();
    noise
}

/// A profiler as `--profiler` sets it up.
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

fn with_profiler(path: &Path, noise: f64, calibration: &Calibration) {
    let ready = ready(path, Fidelity::Optimised);
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let profiler = profiler(&ready, &directory.path().join("recording"));
    let measured = pairs(PAIRS, || plain(&ready, calibration), || profiled(&ready, &profiler, calibration));
    let (value, interval) = measured.ratio();
    Case {
        bench: "overhead",
        case: "with profiler, squeezenet".to_owned(),
        value,
        interval: Some(interval),
        unit: "x",
        peer: "without instruments, ms".to_owned(),
        peer_value: median(&measured.first) / 1e6,
        floor: Some(1.0),
        goal: "<= 1.02".to_owned(),
        met: Goal::AtMost(1.02).met(value, Some(interval), noise),
    }
    .print();
    profiler.finish().expect("the recording is closed");
}

fn smallest_model(calibration: &Calibration) {
    const RUNS: usize = 200;
    let ready = ready(&smallest(), Fidelity::Optimised);
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let profiler = profiler(&ready, &directory.path().join("recording"));
    let block = |one: &dyn Fn() -> f64| (0..RUNS).map(|_| one()).sum::<f64>() / RUNS as f64;
    let dispatches = ready.plan.kernels().len() as f64;
    let without = || block(&|| plain(&ready, calibration));
    let (_, control) = pairs(PAIRS, without, without).difference();
    let measured = pairs(PAIRS, without, || block(&|| profiled(&ready, &profiler, calibration)));
    let (value, (low, high)) = measured.difference();
    let (value, interval) = (value / dispatches, (low / dispatches, high / dispatches));
    let two_clocks = median(&(0..1000).map(|_| nanos(calibration, || ())).collect::<Vec<_>>()) * 2.0;
    Case {
        bench: "overhead",
        case: "profiler per dispatch, digits_cnn".to_owned(),
        value,
        interval: Some(interval),
        unit: "ns",
        peer: "run without instruments, us".to_owned(),
        peer_value: median(&measured.first) / 1e3,
        floor: Some(two_clocks),
        goal: "<= 80 ns".to_owned(),
        met: Goal::AtMost(80.0).met(value, Some(interval), noise(control, 0.0) / dispatches),
    }
    .print();
    profiler.finish().expect("the recording is closed");
}
