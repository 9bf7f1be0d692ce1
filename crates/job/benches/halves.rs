//! Measures what half precision costs: a model in fp16 against the same model in fp32.

mod support;

use std::path::Path;
use std::process::ExitCode;

use half::f16;
use opscope::model::{Fidelity, NoObserver, RunId};
use opscope::tensor::{DType, Tensor, npy};
use opscope_bench::{Case, Contender, Goal, Rounds, finish, not_measured};
use support::{NO_MODELS, Ready, calibration, nanos, prepared, ready_on};

/// The converter's authors expect fp16 to be slower on a processor without it. A larger factor than this is a fault.
const GOAL: Goal = Goal::AtMost(3.0);

fn main() -> ExitCode {
    for (name, step) in [("light_squeezenet", 60), ("light_resnet50", 20), ("minilm", 40)] {
        match (prepared(&format!("{name}.onnx")), prepared(&format!("{name}-fp16.onnx"))) {
            (Some(single), Some(half)) => compare(name, &single, &half, step),
            _ => not_measured("halves", &format!("fp16 to fp32, {name}"), GOAL, "x", NO_MODELS),
        }
    }
    finish()
}

fn compare(name: &str, single: &Path, half: &Path, step: usize) {
    let calibration = calibration();
    let inputs = inputs(single);
    let halved: Vec<Tensor> = inputs.iter().map(in_half).collect();
    let single = ready_on(single, Fidelity::Optimised, inputs);
    let half = ready_on(half, Fidelity::Optimised, halved);
    let run = |ready: &Ready| {
        nanos(&calibration, || {
            ready.plan.run(RunId(0), &*ready.resident, &NoObserver).expect("it runs");
        })
    };
    let mut rounds =
        Rounds::new(step, [Contender::new("fp32", || run(&single)), Contender::new("fp16", || run(&half))]);
    let judged = rounds.decide_ratio(GOAL, 1, 0);
    let (case, peer) = (format!("fp16 to fp32, {name}"), ("fp32, ms", rounds.cost(0).value / 1e6));
    Case { bench: "halves", case, judged, unit: "x", peer, floor: None, goal: GOAL }.print();
}

/// Returns the arrays beside the model, in the order of its inputs.
fn inputs(model: &Path) -> Vec<Tensor> {
    let graph = opscope::onnx::Graph::load(model).expect("the model is read");
    let stem = model.file_stem().expect("it is a file").to_string_lossy();
    let file = |name: &str| {
        let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        model.with_file_name(format!("{stem}.input.{name}.npy"))
    };
    graph.inputs.iter().map(|&id| npy::read_file(&file(&graph.value(id).name)).expect("an array is there")).collect()
}

/// Returns a tensor of single precision in half precision, and any other tensor unchanged.
fn in_half(tensor: &Tensor) -> Tensor {
    if tensor.dtype() != DType::F32 {
        return tensor.clone();
    }
    let (singles, _) = tensor.bytes().as_chunks();
    let bytes: Vec<u8> =
        singles.iter().flat_map(|&bytes| f16::from_f32(f32::from_le_bytes(bytes)).to_le_bytes()).collect();
    Tensor::new(DType::F16, tensor.shape().to_vec(), bytes).expect("as many elements as before")
}
