//! What a run needs in memory for tensors.

use opscope_model::{Fidelity, RunMemory};
use opscope_tensor::Tensor;
use tract_onnx::pb::tensor_proto::DataType::Float;

use crate::builder::{Builder, D, int};
use crate::files::{FIDELITIES, load, planned};

const FOUR: &[f32] = &[-1.0, 0.0, 1.0, 2.0];

/// Returns what runs of a graph need at exact fidelity for four numbers, and the operator that needs the most.
fn needed(builder: Builder) -> (RunMemory, Option<String>) {
    let graph = builder.graph();
    let model = load(&graph, Fidelity::Exact).unwrap();
    let plan = model.plan(&[Tensor::from_f32(vec![4], FOUR).unwrap()]).unwrap();
    let memory = plan.memory();
    let name = |kernel: opscope_model::KernelId| graph.operator(plan.kernels()[kernel.index()].operator()).name.clone();
    (memory, memory.at.map(name))
}

#[test]
fn a_value_counts_from_the_operator_that_gives_it_to_the_last_that_takes_it() {
    let builder = Builder::default()
        .input("x", Float, &[D::N(4)])
        .node_with("widen", "Concat", &["x", "x", "x", "x"], &["wide"], vec![int("axis", 0)])
        .node("negate", "Neg", &["wide"], &["negative"])
        .node("cut", "Relu", &["negative"], &["positive"])
        .node("add", "Add", &["wide", "positive"], &["y"])
        .output("y");
    let (memory, at) = needed(builder);
    // While `cut` is executed: x with 16 bytes, and wide, negative and positive with 64 each. Then negative is forgotten, so
    // `add` needs no more.
    assert_eq!((memory.peak, memory.unknown, at.as_deref()), (16 + 3 * 64, 0, Some("cut")));
}

#[test]
fn an_output_of_the_model_counts_to_the_end_although_nothing_takes_it() {
    let chain = |early: bool| {
        let builder = Builder::default()
            .input("x", Float, &[D::N(4)])
            .node("first", "Neg", &["x"], &["a"])
            .node("second", "Relu", &["a"], &["b"])
            .node("third", "Neg", &["b"], &["y"])
            .output("y");
        if early { builder.output("a") } else { builder }
    };
    assert_eq!(needed(chain(false)).0.peak, 3 * 16, "x, and what an operator takes and gives");
    assert_eq!(needed(chain(true)).0.peak, 4 * 16, "and a, which is given back at the end");
}

#[test]
fn what_is_as_large_as_the_data_says_is_told_as_unknown() {
    let builder = Builder::default()
        .input("x", Float, &[D::N(4)])
        .node("find", "NonZero", &["x"], &["places"])
        .node("double", "Add", &["places", "places"], &["y"])
        .output("y");
    let (memory, at) = needed(builder);
    assert_eq!((memory.peak, memory.unknown, at), (16, 2, None));
}

#[test]
fn the_plans_of_real_models_are_known_to_the_last_tensor() {
    for model in ["digits_cnn", "tiny_transformer", "token_classifier"] {
        for fidelity in FIDELITIES {
            let (_, inputs, plan) = planned(model, fidelity);
            let memory = plan.memory();
            let given: usize = inputs.iter().map(|input| input.bytes().len()).sum();
            assert_eq!(memory.unknown, 0, "{model}, {fidelity}");
            assert!(memory.peak > given as u64 && memory.at.is_some(), "{model}, {fidelity}: {memory:?}");
        }
    }
}
