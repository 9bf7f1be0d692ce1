//! Which values kernels are found to compute if two right computations of a value differ by a step.

// The embedded engine's tests also build their models with this.
#[allow(dead_code)]
#[path = "../../engine-tract/tests/engine/builder.rs"]
mod builder;

use std::num::NonZeroUsize;
use std::sync::Arc;

use builder::{Builder, D, floats};
use opscope::Session;
use opscope::model::{Fidelity, LoadOptions};
use opscope::onnx::Graph;
use opscope::tensor::Tensor;
use opscope_job::verify::{FoundOutput, ValueSteps, Verify, VerifyOptions, find_values, verify};
use tract_onnx::pb::TensorProto;
use tract_onnx::pb::tensor_proto::DataType;

fn session(graph: &Arc<Graph>, fidelity: Fidelity) -> Session {
    Session::with_graph(Arc::clone(graph), &LoadOptions::new(fidelity, NonZeroUsize::MIN)).unwrap()
}

/// Returns the values that the optimised plan of a graph is found to compute on this input, with these steps.
fn found(graph: &Arc<Graph>, input: &Tensor, steps: &ValueSteps) -> Vec<FoundOutput> {
    let inputs = [vec![input.clone()]];
    let (optimised, exact) = (session(graph, Fidelity::Optimised), session(graph, Fidelity::Exact));
    find_values(&optimised, &exact, &inputs, steps).unwrap().1
}

/// Returns whether a value was found among the outputs, in the file's order.
fn has(outputs: &[FoundOutput], graph: &Graph, name: &str) -> bool {
    let value = graph.value_named(name).unwrap().id;
    outputs.iter().flat_map(|output| &output.values).any(|found| found.value == value && found.same_order)
}

/// Asserts that values are recognised with the steps in which the file computes them, and not without steps.
#[track_caller]
fn assert_recognised_by_steps(graph: &Arc<Graph>, input: &Tensor, names: &[&str]) {
    let with_steps = found(graph, input, &ValueSteps::of(graph).unwrap());
    let without = found(graph, input, &ValueSteps::default());
    for name in names {
        assert!(!has(&without, graph, name), "{name}: the engine's two plans give the same, this shows nothing");
        assert!(has(&with_steps, graph, name), "{name}: {with_steps:?}");
    }
}

/// Returns an initializer of one number, or of rows of numbers, of 8 bits.
fn bytes(name: &str, dims: &[i64], values: impl Iterator<Item = i32>) -> TensorProto {
    let (name, dims, data_type) = (name.to_owned(), dims.to_vec(), DataType::Int8 as i32);
    TensorProto { name, dims, data_type, int32_data: values.collect(), ..TensorProto::default() }
}

/// Returns a quantised multiplication of 256 rows of 16 numbers, which is dequantised again. One product in 12 is
/// halfway between two integers, as exactly as its scales can be multiplied.
fn quantised() -> Arc<Graph> {
    let mut random = fastrand::Rng::with_seed(1);
    let one = [("x_scale", 0.0078), ("w_scale", 0.013), ("y_scale", 0.0012168)];
    let scales = one.map(|(name, scale)| floats(name, &[], &[scale]));
    let graph = Builder::default()
        .input("x", DataType::Float, &[D::N(256), D::N(16)])
        .output("y")
        .initializer(bytes("zero", &[], [0].into_iter()))
        .initializer(bytes("w", &[16, 32], (0..512).map(|_| random.i32(-7..=7))))
        .node("round", "QuantizeLinear", &["x", "x_scale", "zero"], &["rounded"])
        .node(
            "multiply",
            "QLinearMatMul",
            &["rounded", "x_scale", "zero", "w", "w_scale", "zero", "y_scale", "zero"],
            &["product"],
        )
        .node("back", "DequantizeLinear", &["product", "y_scale", "zero"], &["y"]);
    scales.into_iter().fold(graph, Builder::initializer).graph()
}

#[test]
fn integers_of_8_bits_and_what_they_are_dequantised_to_may_be_a_step_apart() {
    let mut random = fastrand::Rng::with_seed(2);
    let input: Vec<f32> = (0..256 * 16).map(|_| random.f32()).collect();
    let input = Tensor::from_f32(vec![256, 16], &input).unwrap();
    let graph = quantised();
    assert_recognised_by_steps(&graph, &input, &["product", "y"]);

    // The values that a verification keeps are not found with these steps.
    let options = VerifyOptions { when: Verify::On, ..VerifyOptions::default() };
    let (verification, _) = verify(&session(&graph, Fidelity::Optimised), &[input], 1, &options).unwrap();
    assert!(verification.wrong.is_empty(), "{:?}", verification.wrong);
    let kept: Vec<&str> = verification.kernels.iter().map(|found| &*found.value).collect();
    assert!(kept.contains(&"rounded") && !kept.contains(&"product") && !kept.contains(&"y"), "{kept:?}");
}

#[test]
fn a_sigmoid_of_almost_0_may_be_as_far_off_as_one_of_almost_1() {
    let graph = Builder::default()
        .input("x", DataType::Float, &[D::N(1), D::N(256)])
        .output("y")
        .node("sigmoid", "Sigmoid", &["x"], &["y"])
        .graph();
    let input: Vec<f32> = (0..256).map(|index| -8.0 - index as f32 / 32.0).collect();
    assert_recognised_by_steps(&graph, &Tensor::from_f32(vec![1, 256], &input).unwrap(), &["y"]);
}

#[test]
fn a_sigmoid_that_differs_by_no_more_than_its_approximation_is_not_distinctive() {
    let graph = Builder::default()
        .input("x", DataType::Float, &[D::N(1), D::N(256)])
        .output("y")
        .node("sigmoid", "Sigmoid", &["x"], &["y"])
        .graph();
    let input: Vec<f32> = (0..256).map(|index| -14.0 - index as f32 / 32.0).collect();
    let input = Tensor::from_f32(vec![1, 256], &input).unwrap();
    let outputs = found(&graph, &input, &ValueSteps::of(&graph).unwrap());
    assert!(outputs.iter().all(|output| !output.distinctive && output.values.is_empty()), "{outputs:?}");
}

#[test]
fn operators_that_were_seen_to_change_nothing_do_not_blur_what_kernels_stand_for() {
    let ones = [1.0; 4];
    let graph = Builder::default()
        .input("x", DataType::Float, &[D::N(1), D::N(4), D::N(16)])
        .output("y")
        .initializer(floats("ones", &[4], &ones))
        .initializer(floats("zeros", &[4], &[0.0; 4]))
        .initializer(floats("weights", &[4, 1], &ones))
        .node("norm", "InstanceNormalization", &["x", "ones", "zeros"], &["normed"])
        .node("scale", "Mul", &["normed", "weights"], &["scaled"])
        .node("sine", "Sin", &["scaled"], &["y"])
        .graph();
    let mut random = fastrand::Rng::with_seed(3);
    let input: Vec<f32> = (0..64).map(|_| random.f32()).collect();
    let inputs = [Tensor::from_f32(vec![1, 4, 16], &input).unwrap()];
    let options = VerifyOptions { when: Verify::On, ..VerifyOptions::default() };
    let optimised = session(&graph, Fidelity::Optimised);
    let (_, verified) = verify(&optimised, &inputs, 1, &options).unwrap();
    let plan = verified.unwrap().model().plan(&inputs).unwrap();
    let named = |name: &str| graph.operator_named(name).unwrap().id;
    let stands_for = |name: &str| {
        let kernels = plan.kernels().iter().flat_map(|kernel| &kernel.operators);
        kernels.filter(|at| at.operator == named(name)).map(|at| at.exact).collect::<Vec<_>>()
    };
    let norm = stands_for("norm");
    assert!(norm.len() > 1 && norm.iter().all(|exact| *exact), "several kernels normalise: {norm:?}");
    assert_eq!(stands_for("scale"), [true], "one of them gives what the multiplication by 1 gives, too");
    assert_eq!(stands_for("sine"), [true]);
}
