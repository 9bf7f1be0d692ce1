//! Sizes that no machine has: they cause an error that names the operator, and no allocation.

use std::num::NonZeroUsize;
use std::sync::Arc;

use opscope_engine_tract::TractEngine;
use opscope_model::{Engine, EngineError, Fidelity, LoadOptions, Plan};
use opscope_onnx::Graph;
use opscope_tensor::{DType, Tensor};
use tract_onnx::pb::AttributeProto;
use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::tensor_proto::DataType;

use crate::builder::{Builder, D, attribute, floats, int, ints, subgraph, tensor};
use crate::files::{FIDELITIES, load};

const HUGE: i64 = 1 << 23;

/// `y = x + <huge>`, so that the huge value is needed.
fn beside_input(graph: Builder) -> Builder {
    graph.input("x", DataType::Float, &[D::N(1)]).node("add", "Add", &["x", "huge"], &["y"]).output("y")
}

fn one() -> Tensor {
    Tensor::from_f32(vec![1], &[1.0]).unwrap()
}

fn plan(graph: &Arc<Graph>, inputs: &[Tensor]) -> [Result<Arc<dyn Plan>, EngineError>; 2] {
    FIDELITIES.map(|fidelity| load(graph, fidelity)?.plan(inputs))
}

#[track_caller]
fn assert_refused(graph: &Arc<Graph>, inputs: &[Tensor], at: &str) {
    for outcome in plan(graph, inputs) {
        match outcome {
            Err(EngineError::Load { node: Some(node), reason }) => {
                assert_eq!(node, at, "{reason}");
                assert!(reason.contains("memory") || reason.contains("size"), "{reason}");
            }
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it was not refused"),
        }
    }
}

#[test]
fn what_operators_make_of_constants_may_not_be_larger_than_memory() {
    let shape = || ints("shape", &[2], &[HUGE, HUGE]);
    let seed = || floats("seed", &[1, 1], &[1.0]);
    let fill = Builder::default().initializer(shape()).node("fill", "ConstantOfShape", &["shape"], &["huge"]);
    let expand = Builder::default().initializer(shape()).initializer(seed()).node(
        "fill",
        "Expand",
        &["seed", "shape"],
        &["huge"],
    );
    let tile =
        Builder::default().initializer(shape()).initializer(seed()).node("fill", "Tile", &["seed", "shape"], &["huge"]);
    let pad = Builder::default().initializer(ints("pads", &[4], &[0, 0, HUGE, HUGE])).initializer(seed()).node(
        "fill",
        "Pad",
        &["seed", "pads"],
        &["huge"],
    );
    for graph in [fill, expand, tile, pad] {
        assert_refused(&beside_input(graph).graph(), &[one()], "fill");
    }
}

#[test]
fn numbers_that_the_engine_would_cut_to_32_bits_are_refused() {
    for sizes in [[1i64 << 40, 1 << 40], [1 << 32, 1], [(1 << 32) + 1, 2]] {
        let graph = Builder::default().initializer(ints("shape", &[2], &sizes)).node(
            "fill",
            "ConstantOfShape",
            &["shape"],
            &["huge"],
        );
        assert_refused(&beside_input(graph).graph(), &[one()], "fill");
    }
    let range = Builder::default()
        .initializer(floats("start", &[], &[0.0]))
        .initializer(floats("limit", &[], &[1e15]))
        .initializer(floats("step", &[], &[1.0]))
        .node("fill", "Range", &["start", "limit", "step"], &["huge"]);
    assert_refused(&beside_input(range).graph(), &[one()], "fill");
}

#[test]
fn what_a_run_makes_of_numbers_in_the_file_is_in_the_load_budget() {
    let x = || Builder::default().input("x", DataType::Float, &[D::N(1)]);
    let pad = |size: i64| {
        x().initializer(ints("pads", &[2], &[0, size - 1]))
            .node("fill", "Pad", &["x", "pads"], &["y"])
            .output("y")
            .graph()
    };
    let random = |size: i64| {
        let shape = AttributeProto { r#type: AttributeType::Ints as i32, ints: vec![size], ..attribute("shape") };
        let graph = x().node_with("fill", "RandomNormal", &[], &["noise"], vec![shape]);
        graph.node("add", "Add", &["x", "noise"], &["y"]).output("y").graph()
    };
    for graph in [&pad as &dyn Fn(i64) -> Arc<Graph>, &random] {
        // 2 GiB, and half a GiB.
        for outcome in plan(&graph(1 << 29), &[one()]) {
            match outcome {
                Err(EngineError::Load { node: Some(node), reason }) => {
                    assert_eq!(node, "fill", "{reason}");
                    assert!(reason.ends_with("a load budget of 2 allows it"), "{reason}");
                }
                Err(other) => panic!("{other}"),
                Ok(_) => panic!("it was not refused"),
            }
        }
        plan(&graph(1 << 27), &[one()]).into_iter().for_each(|outcome| drop(outcome.unwrap()));
        let options =
            LoadOptions { budget: "2".parse().unwrap(), ..LoadOptions::new(Fidelity::Optimised, NonZeroUsize::MIN) };
        TractEngine.load(graph(1 << 29), &options).and_then(|model| model.plan(&[one()])).unwrap();
    }
}

#[test]
fn a_chain_that_grows_from_constant_to_constant_is_stopped_where_it_becomes_too_large() {
    let shape = tensor("value", ints("", &[2], &[HUGE, HUGE]));
    let graph = Builder::default()
        .node_with("constant", "Constant", &[], &["large"], vec![shape])
        .node("copy", "Identity", &["large"], &["shape"])
        .node("fill", "ConstantOfShape", &["shape"], &["huge"]);
    assert_refused(&beside_input(graph).graph(), &[one()], "fill");
}

#[test]
fn what_a_given_input_asks_for_may_not_be_larger_than_memory() {
    let graph = Builder::default()
        .input("x", DataType::Float, &[D::N(1)])
        .input("shape", DataType::Int64, &[D::N(2)])
        .node("fill", "Expand", &["x", "shape"], &["y"])
        .output("y")
        .graph();
    let ask = |shape: [i64; 2]| [one(), Tensor::from_i64(vec![2], &shape).unwrap()];
    for outcome in plan(&graph, &ask([HUGE, HUGE])) {
        let error = outcome.err().expect("it was not refused").to_string();
        assert!(error.contains("'fill'"), "{error}");
    }
    for outcome in plan(&graph, &ask([2, 3])) {
        outcome.unwrap();
    }
}

#[test]
fn what_operators_make_of_inputs_may_not_be_larger_than_memory() {
    let graph = Builder::default()
        .input("x", DataType::Float, &[D::S("n"), D::N(1)])
        .node_with("turn", "Transpose", &["x"], &["t"], vec![])
        .node("outer", "Mul", &["x", "t"], &["y"])
        .output("y")
        .graph();
    let elements = 1 << 20;
    let column = Tensor::new(DType::F32, vec![elements, 1], vec![0u8; elements * 4]).unwrap();
    assert_refused(&graph, &[column], "outer");
}

#[test]
fn a_branch_is_searched_as_well() {
    let huge = Builder::default()
        .initializer(ints("shape", &[2], &[HUGE, HUGE]))
        .node("inner", "ConstantOfShape", &["shape"], &["h"])
        .node("sum", "ReduceMax", &["h"], &["a"])
        .output("a");
    let captured = Builder::default()
        .node("inner", "ConstantOfShape", &["outer_shape"], &["h"])
        .node("sum", "ReduceMax", &["h"], &["a"])
        .output("a");
    for branch in [huge, captured] {
        let small = Builder::default().node("same", "Identity", &["x"], &["b"]).output("b");
        let graph = Builder::default()
            .input("x", DataType::Float, &[D::N(1), D::N(1)])
            .input("choice", DataType::Bool, &[])
            .initializer(ints("outer_shape", &[2], &[HUGE, HUGE]))
            .node_with(
                "choose",
                "If",
                &["choice"],
                &["y"],
                vec![subgraph("then_branch", branch), subgraph("else_branch", small)],
            )
            .output("y")
            .graph();
        let inputs =
            [Tensor::from_f32(vec![1, 1], &[1.0]).unwrap(), Tensor::new(DType::Bool, vec![], vec![0u8]).unwrap()];
        assert_refused(&graph, &inputs, "inner");
    }
}

#[test]
fn a_thousand_large_constants_are_refused_where_their_sum_is_too_large() {
    let side = 1 << 14;
    let mut graph = Builder::default().initializer(ints("shape", &[2], &[side, side]));
    let mut sum = "x".to_owned();
    for index in 0..1000 {
        let (part, next) = (format!("part{index}"), format!("sum{index}"));
        graph = graph.node(&format!("fill{index}"), "ConstantOfShape", &["shape"], &[&part]).node(
            &format!("add{index}"),
            "Add",
            &[&sum, &part],
            &[&next],
        );
        sum = next;
    }
    let graph = graph.input("x", DataType::Float, &[D::N(1)]).output(&sum);
    let error = load(&graph.graph(), FIDELITIES[0]).unwrap().plan(&[one()]).err().expect("it was not refused");
    assert!(error.to_string().contains("depend on no input"), "{error}");
}

#[test]
fn sizes_that_attributes_ask_for_are_checked() {
    let graph = Builder::default()
        .input("x", DataType::Float, &[D::N(1), D::N(1)])
        .initializer(floats("w", &[1, 1], &[1.0]))
        .node_with("gather", "Concat", &["x", "w"], &["two"], vec![int("axis", 0)])
        .initializer(ints("pads", &[4], &[1 << 30, 0, 0, 1 << 30]))
        .node("pad", "Pad", &["two", "pads"], &["y"])
        .output("y")
        .graph();
    assert_refused(&graph, &[Tensor::from_f32(vec![1, 1], &[1.0]).unwrap()], "pad");
}

#[test]
fn a_loop_runs_up_to_1024_times_and_no_more() {
    let graph = |times: i64| {
        let body = Builder::default()
            .input("i", DataType::Int64, &[])
            .input("continues", DataType::Bool, &[])
            .input("before", DataType::Float, &[D::N(1)])
            .node("same", "Identity", &["continues"], &["goes_on"])
            .node("add", "Add", &["before", "before"], &["after"])
            .output("goes_on")
            .output("after");
        Builder::default()
            .input("x", DataType::Float, &[D::N(1)])
            .initializer(ints("times", &[], &[times]))
            .node_with("outer", "Loop", &["times", "", "x"], &["y"], vec![subgraph("body", body)])
            .output("y")
            .graph()
    };
    for outcome in plan(&graph(1024), &[one()]) {
        outcome.unwrap();
    }
    for outcome in plan(&graph(1025), &[one()]) {
        let error = outcome.err().expect("it was not refused").to_string();
        assert!(error.contains("up to 1024 times"), "{error}");
    }
}
