//! What the benchmarks of a run share: where the models are, and how long a run takes.
#![allow(dead_code, reason = "each benchmark uses a part")]

pub mod around;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use opscope::model::{DeviceTensors, Fidelity, Plan};
use opscope::tensor::Tensor;
use opscope::{Session, onnx};
use opscope_clock::{Calibration, ClockPair, Ticks};
use opscope_job::inputs::{Data, ShapeSpec, concrete_shapes, generate};
use opscope_sys::memory;

/// A model that is ready to run on generated inputs.
pub struct Ready {
    pub session: Session,
    pub inputs: Vec<Tensor>,
    pub plan: Arc<dyn Plan>,
    pub resident: Box<dyn DeviceTensors>,
}

/// Loads a model.
pub fn ready(path: &Path, fidelity: Fidelity) -> Ready {
    let session = Session::load(path, fidelity, NonZeroUsize::MIN).expect("the model loads");
    let graph: &onnx::Graph = session.graph();
    let shapes = concrete_shapes(graph, &ShapeSpec::Smallest).expect("the model says its shapes");
    let inputs = generate(graph, &shapes, Data::Random(1)).expect("inputs can be made up");
    planned(session, inputs)
}

/// Loads a model for the given inputs.
pub fn ready_on(path: &Path, fidelity: Fidelity, inputs: Vec<Tensor>) -> Ready {
    planned(Session::load(path, fidelity, NonZeroUsize::MIN).expect("the model loads"), inputs)
}

fn planned(session: Session, inputs: Vec<Tensor>) -> Ready {
    let plan = session.model().plan(&inputs).expect("the model can be planned");
    let resident = plan.upload(&inputs).expect("inputs fit");
    Ready { session, inputs, plan, resident }
}

/// The smallest model of this repository.
pub fn smallest() -> PathBuf {
    models().join("digits_cnn.onnx")
}

/// The models of this repository.
pub fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models")
}

/// A `light_*` model of the package onnx.
pub fn light(name: &str) -> Option<PathBuf> {
    prepared(&format!("light_{name}.onnx"))
}

/// Returns a model that `scripts/bench-models` made. Its directory is in `OPSCOPE_LIGHT_MODELS`, which `scripts/bench`
/// sets. If the benchmark only shows that it runs, the smallest `light_*` model replaces the others. Returns `None` if
/// the variable is not set or there is no such model.
pub fn prepared(file: &str) -> Option<PathBuf> {
    let is_light = file.starts_with("light_") && !file.ends_with("-fp16.onnx");
    let file = if opscope_bench::is_moment() && is_light { "light_squeezenet.onnx" } else { file };
    let path = Path::new(&std::env::var_os("OPSCOPE_LIGHT_MODELS")?).join(file);
    path.exists().then_some(path)
}

/// The reason why a case that needs a model of `scripts/bench-models` could not be measured.
pub const NO_MODELS: &str = "OPSCOPE_LIGHT_MODELS is not set";

/// Returns the nanoseconds that `work` takes.
pub fn nanos(calibration: &Calibration, work: impl FnOnce()) -> f64 {
    let start = Ticks::now();
    work();
    calibration.nanos(start, Ticks::now())
}

/// Returns a calibration over some milliseconds.
pub fn calibration() -> Calibration {
    let start = ClockPair::now();
    std::thread::sleep(std::time::Duration::from_millis(50));
    Calibration::since(start)
}

/// Returns how much the peak of this process's resident memory grows during `work`, in bytes.
pub fn growth(work: impl FnOnce()) -> u64 {
    memory::reset_peak();
    // After the reset, the peak is what is resident now.
    let before = memory::peak();
    work();
    memory::peak() - before
}

/// Returns the bytes of every tensor that a run computes.
pub fn output_bytes(ready: &Ready) -> impl Iterator<Item = usize> {
    let tensors = ready.plan.kernels().iter().flat_map(|kernel| &kernel.output_types);
    tensors.filter_map(|tensor| Some(tensor.shape.iter().product::<usize>() * tensor.dtype?.size()?))
}
