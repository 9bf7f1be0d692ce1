//! One plan per shape, and inputs whose values belong to the plan.

use std::sync::Arc;

use opscope_model::{EngineError, Fidelity};
use opscope_onnx::Graph;
use opscope_tensor::{DType, Tensor};

use tract_onnx::pb::tensor_proto::DataType;

use crate::builder::{Builder, D, floats, ints, subgraph};
use crate::files::{FIDELITIES, graph, inputs, json, load, mismatch, planned, run, tensor};

/// Returns the first `count` of a tensor's leading dimension.
fn first(tensor: &Tensor, count: usize) -> Tensor {
    let mut shape = tensor.shape().to_vec();
    let bytes = tensor.bytes().len() / shape[0] * count;
    shape[0] = count;
    Tensor::new(tensor.dtype(), shape, &tensor.bytes()[..bytes]).unwrap()
}

#[test]
fn a_dynamic_batch_gives_the_same_rows_in_any_size() {
    for model in ["tiny_transformer", "token_classifier"] {
        for fidelity in FIDELITIES {
            let (graph, inputs, whole) = planned(model, fidelity);
            let expected = run(&*whole, &inputs).unwrap();
            let loaded = load(&graph, fidelity).unwrap();
            for count in 1..=inputs[0].shape()[0] {
                let some: Vec<_> = inputs.iter().map(|input| first(input, count)).collect();
                let outputs = run(&*loaded.plan(&some).unwrap(), &some).unwrap();
                assert_eq!(mismatch(&outputs[0], &first(&expected[0], count)), None, "{model}, {count}, {fidelity}");
            }
        }
    }
}

#[test]
fn a_plan_is_made_once_per_shape_and_takes_no_other() {
    let (graph, inputs, _) = planned("token_classifier", Fidelity::Optimised);
    let loaded = load(&graph, Fidelity::Optimised).unwrap();
    let one = vec![first(&inputs[0], 1)];
    let plan = loaded.plan(&one).unwrap();
    assert!(Arc::ptr_eq(plan.kernels(), loaded.plan(&one).unwrap().kernels()));
    assert!(!Arc::ptr_eq(plan.kernels(), loaded.plan(&inputs).unwrap().kernels()));
    assert!(matches!(plan.upload(&inputs).err(), Some(EngineError::InputShape { .. })));
    assert!(matches!(plan.upload(&[]).err(), Some(EngineError::InputCount { expected: 1, found: 0, .. })));
    let mut other_type = one[0].reshaped(one[0].shape().to_vec()).unwrap();
    other_type = Tensor::new(DType::F64, other_type.shape().to_vec(), other_type.bytes()).unwrap();
    assert!(matches!(plan.upload(&[other_type]).err(), Some(EngineError::InputType { .. })));
}

#[test]
fn inputs_that_do_not_fit_the_graph_are_refused_with_what_it_takes() {
    let graph = graph("fixtures/symbolic.onnx");
    let fixture = &json("fixtures/index.json")["fixtures"]["symbolic"];
    let good = inputs(&graph, "fixtures/", &fixture["inputs"]);
    let model = load(&graph, Fidelity::Exact).unwrap();
    model.plan(&good).unwrap();
    match model.plan(&good[..1]).err() {
        Some(EngineError::InputCount { expected: 2, found: 1, names }) => assert_eq!(names, "image, extra"),
        other => panic!("{other:?}"),
    }
    let as_ints = Tensor::new(DType::I32, good[0].shape().to_vec(), good[0].bytes()).unwrap();
    match model.plan(&[as_ints, good[1].clone()]).err() {
        Some(EngineError::InputType { name, expected: DType::F32, found: DType::I32 }) => assert_eq!(name, "image"),
        other => panic!("{other:?}"),
    }
    let rank = good[0].reshaped(vec![good[0].elements()]).unwrap();
    assert!(matches!(model.plan(&[rank, good[1].clone()]).err(), Some(EngineError::InputShape { .. })));
    // A symbol that both inputs have must stand for one number.
    match model.plan(&[good[0].clone(), first(&good[1], 1)]).err() {
        Some(EngineError::InputShape { name, expected, .. }) => {
            assert_eq!(name, "extra");
            assert!(expected.contains('='), "it says what the symbol stands for: {expected}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_input_that_belongs_to_the_plan_may_change_from_plan_to_plan() {
    let graph = graph("fixtures/runtime_reshape.onnx");
    let fixture = &json("fixtures/index.json")["fixtures"]["runtime_reshape"];
    let given = inputs(&graph, "fixtures/", &fixture["inputs"]);
    let expected = tensor("fixtures/runtime_reshape.output.y.npy");
    let slot = graph.inputs.iter().position(|&input| graph.value(input).name == "shape").unwrap();
    for fidelity in FIDELITIES {
        let model = load(&graph, fidelity).unwrap();
        let plan = model.plan(&given).unwrap();
        assert_eq!(mismatch(&run(&*plan, &given).unwrap()[0], &expected), None, "{fidelity}");

        let mut flat = given.clone();
        let rank = given[slot].elements();
        let mut shape = vec![1i64; rank];
        shape[rank - 1] = expected.elements() as i64;
        flat[slot] = Tensor::from_i64(vec![rank], &shape).unwrap();
        let other = run(&*model.plan(&flat).unwrap(), &flat).unwrap();
        let shape: Vec<usize> = shape.iter().map(|&dim| dim as usize).collect();
        assert_eq!(mismatch(&other[0], &expected.reshaped(shape).unwrap()), None, "{fidelity}");

        // The first plan still exists, and accepts only the values that it was made for.
        assert_eq!(mismatch(&run(&*plan, &given).unwrap()[0], &expected), None, "{fidelity}");
        if let Err(error) = plan.upload(&flat) {
            assert!(error.to_string().contains("another value"), "{error}");
        }
    }
}

#[test]
fn what_depends_on_no_input_is_among_the_constants() {
    let graph = graph("fixtures/constant_subgraph.onnx");
    let inputs = [tensor("fixtures/constant_subgraph.input.x.npy")];
    let depends = graph.depends_on_input();
    let folded: Vec<_> = graph
        .values
        .iter()
        .filter(|value| matches!(value.producer, opscope_onnx::Producer::Operator(..)) && !depends[value.id.index()])
        .map(|value| value.id)
        .collect();
    assert!(!folded.is_empty());
    for (fidelity, expected) in [(Fidelity::Exact, folded), (Fidelity::Optimised, vec![])] {
        let plan = load(&graph, fidelity).unwrap().plan(&inputs).unwrap();
        let mut constants = Vec::new();
        plan.constants(&mut |value, _| {
            constants.push(value);
            Ok(())
        })
        .unwrap();
        constants.sort();
        assert_eq!(constants, expected, "{fidelity}");
        let broken = plan.constants(&mut |_, _| Err(std::io::Error::other("full")));
        assert_eq!(broken.is_err(), fidelity == Fidelity::Exact, "the visitor's error is handed on");
    }
}

#[test]
fn a_weight_has_its_name_where_it_is_used_as_it_stands_in_the_file() {
    let (graph, _, plan) = planned("digits_cnn", Fidelity::Exact);
    let mut named = Vec::new();
    for kernel in plan.kernels().iter() {
        for (input, found) in kernel.inputs.iter().zip(&kernel.input_types) {
            let Some(value) = input.value.filter(|_| input.constant) else { continue };
            let value = graph.value(value);
            assert!(graph.operator(kernel.operator().unwrap()).inputs.contains(&Some(value.id)), "{}", value.name);
            let shape: Vec<usize> = value.shape.iter().flatten().map(|dim| dim.to_string().parse().unwrap()).collect();
            assert_eq!((found.dtype, &found.shape), (value.dtype, &shape), "{}", value.name);
            named.push(value.name.as_str());
        }
    }
    for weight in ["conv1.weight", "conv1.bias", "conv2.weight", "conv3.weight", "fc1.weight", "fc2.weight"] {
        assert!(named.contains(&weight), "{weight} is not among {named:?}");
    }
}

#[test]
fn a_graph_without_operators_hands_its_inputs_on() {
    let made: Arc<Graph> =
        Builder::default().input("x", tract_onnx::pb::tensor_proto::DataType::Float, &[D::S("n")]).output("x").graph();
    let inputs = [Tensor::from_f32(vec![3], &[1.0, 2.0, 3.0]).unwrap()];
    for fidelity in FIDELITIES {
        let plan = load(&made, fidelity).unwrap().plan(&inputs).unwrap();
        assert!(plan.kernels().is_empty());
        assert_eq!(run(&*plan, &inputs).unwrap(), inputs);
    }
}

#[test]
fn the_branch_that_the_inputs_decide_is_taken_where_the_other_would_not_fit() {
    // One window or many: the branches have different ranks, and the one that is not taken cannot be computed at all.
    let squeezed = Builder::default()
        .initializer(ints("axes", &[1], &[0]))
        .node("squeeze", "Squeeze", &["x", "axes"], &["s"])
        .node("", "Neg", &["s"], &["then"])
        .output("then");
    let whole = Builder::default().node("double", "Add", &["x", "x"], &["else"]).output("else");
    let branches = vec![subgraph("then_branch", squeezed), subgraph("else_branch", whole)];
    let graph = Builder::default()
        .input("x", DataType::Float, &[D::S("windows"), D::N(2)])
        .initializer(ints("one", &[], &[1]))
        .initializer(ints("first", &[], &[0]))
        .node("shape", "Shape", &["x"], &["sizes"])
        .node("windows", "Gather", &["sizes", "first"], &["count"])
        .node("single", "Equal", &["count", "one"], &["is_single"])
        .node_with("choose", "If", &["is_single"], &["y"], branches)
        .output("y")
        .graph();
    for fidelity in FIDELITIES {
        let model = load(&graph, fidelity).unwrap();
        let one = vec![Tensor::from_f32(vec![1, 2], &[1.0, 2.0]).unwrap()];
        let plan = model.plan(&one).unwrap();
        assert_eq!(run(&*plan, &one).unwrap()[0], Tensor::from_f32(vec![2], &[-1.0, -2.0]).unwrap(), "{fidelity}");
        for kernel in plan.kernels().iter() {
            assert_eq!(graph.operator(kernel.operator().unwrap()).name, "choose", "{fidelity}: {}", kernel.name);
        }
        let two = vec![Tensor::from_f32(vec![2, 2], &[1.0, 2.0, 3.0, 4.0]).unwrap()];
        let outputs = run(&*model.plan(&two).unwrap(), &two).unwrap();
        assert_eq!(outputs[0], Tensor::from_f32(vec![2, 2], &[2.0, 4.0, 6.0, 8.0]).unwrap(), "{fidelity}");
    }
}

#[test]
fn a_size_beside_an_open_dimension_is_a_hint_and_another_one_is_noted() {
    let graph = Builder::default()
        .input("x", DataType::Float, &[D::S("n"), D::N(3)])
        .node("", "Neg", &["x"], &["y"])
        .output("y")
        .graph();
    for fidelity in FIDELITIES {
        let model = load(&graph, fidelity).unwrap();
        let declared = [Tensor::from_f32(vec![1, 3], &[1.0; 3]).unwrap()];
        assert_eq!(model.plan(&declared).unwrap().notes(), [""; 0]);
        let other = [Tensor::from_f32(vec![1, 2], &[1.0; 2]).unwrap()];
        let plan = model.plan(&other).unwrap();
        assert_eq!(plan.notes(), ["input 'x' is declared as [n, 3]; it runs with [1, 2], which the graph takes"]);
        assert_eq!(run(&*plan, &other).unwrap()[0].shape(), [1, 2]);
    }
    // If the graph cannot take the size, the error is about the declared size.
    let graph = Builder::default()
        .input("x", DataType::Float, &[D::S("n"), D::N(3)])
        .initializer(floats("w", &[3, 2], &[1.0; 6]))
        .node("", "MatMul", &["x", "w"], &["y"])
        .output("y")
        .graph();
    let other = [Tensor::from_f32(vec![1, 2], &[1.0; 2]).unwrap()];
    for fidelity in FIDELITIES {
        match load(&graph, fidelity).unwrap().plan(&other).err() {
            Some(EngineError::InputShape { name, expected, .. }) => assert_eq!((&*name, &*expected), ("x", "n, 3")),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_question_mark_is_no_name_that_two_dimensions_share() {
    let graph = Builder::default()
        .input("x", DataType::Float, &[D::S("?"), D::S("?")])
        .node("", "Neg", &["x"], &["y"])
        .output("y")
        .graph();
    let wide = [Tensor::from_f32(vec![1, 3], &[1.0; 3]).unwrap()];
    for fidelity in FIDELITIES {
        let plan = load(&graph, fidelity).unwrap().plan(&wide).unwrap();
        assert_eq!(run(&*plan, &wide).unwrap()[0].shape(), [1, 3]);
    }
}
