//! Models that are built to waste the engine's time and memory: each runs, or is refused with a sentence.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use opscope_engine_tract::TractEngine;
use opscope_model::{Engine, EngineError, Fidelity, LoadOptions, Plan};
use opscope_onnx::Graph;
use opscope_tensor::{DType, Tensor};
use prost::Message;
use prost::bytes::Bytes;
use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::pb::{AttributeProto, ModelProto, tensor_shape_proto, type_proto};

use crate::builder::{Builder, D, attribute, floats, int, ints, perm, subgraph};
use crate::files::{FIDELITIES, load, models, run};
use crate::one_operator::{self, Draw};

struct Random(fastrand::Rng);

impl Draw for Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0.usize(..limit)
    }
}

/// Plans a drawn model, and runs it if its values are small.
fn outcomes(bytes: Vec<u8>) -> Vec<Result<(), EngineError>> {
    let Ok((graph, inputs)) = one_operator::with_zeros(bytes) else { return Vec::new() };
    let graph = Arc::new(graph);
    let is_small = |plan: &dyn Plan| {
        let types = plan.kernels().iter().flat_map(|kernel| &kernel.output_types);
        types.map(|output| output.shape.iter().product::<usize>()).sum::<usize>() < 1 << 20
    };
    let attempt = |fidelity| {
        let plan = load(&graph, fidelity)?.plan(&inputs)?;
        if is_small(&*plan) { run(&*plan, &inputs).map(drop) } else { Ok(()) }
    };
    FIDELITIES.map(attempt).into()
}

/// `OPSCOPE_SEEDS=1000..20000` draws other models, and records each seed in the file `OPSCOPE_AT`, which then shows the
/// one that ended the process.
#[test]
fn drawn_models_run_or_are_refused_within_their_budget() {
    let seeds = std::env::var("OPSCOPE_SEEDS").unwrap_or_else(|_| "0..500".to_owned());
    let (from, to) = seeds.split_once("..").unwrap();
    let noted = std::env::var_os("OPSCOPE_AT");
    let mut operators: Vec<String> = tract_onnx::onnx().op_register.0.keys().cloned().collect();
    operators.sort();
    let operators: Vec<&str> = operators.iter().map(String::as_str).collect();
    let mut refused = 0;
    let seeds: std::ops::Range<u64> = from.parse().unwrap()..to.parse().unwrap();
    let all = 2 * (seeds.end - seeds.start);
    for seed in seeds {
        if let Some(noted) = &noted {
            std::fs::write(noted, seed.to_string()).unwrap();
        }
        let bytes = one_operator::draw(&mut Random(fastrand::Rng::with_seed(seed)), &operators);
        for error in outcomes(bytes.clone()).into_iter().filter_map(Result::err) {
            refused += 1;
            let text = error.to_string();
            let is_fine = !matches!(error, EngineError::OverBudget { .. }) && !text.contains(['\n', '\u{1}']);
            assert!(is_fine && !text.contains("opscope:"), "{seed}: {text}\n{:?}", ModelProto::decode(&bytes[..]));
        }
    }
    assert!(refused < all, "none of them runs, so that they are of no use");
}

fn list(name: &str, numbers: &[i64]) -> AttributeProto {
    AttributeProto { r#type: AttributeType::Ints as i32, ints: numbers.to_vec(), ..attribute(name) }
}

#[test]
fn what_onnx_does_not_allow_is_refused_before_the_engines_rules_see_it() {
    let node = |shape: &[D], op_type: &str, inputs: &[&str], attributes: Vec<AttributeProto>| {
        Builder::default()
            .input("x", DataType::Float, shape)
            .initializer(ints("none", &[0], &[]))
            .initializer(ints("far", &[1], &[1 << 40]))
            .initializer(ints("zero", &[], &[0]))
            .initializer(ints("pair", &[1, 2], &[0, 0]))
            .initializer(floats("w", &[1], &[1.0]))
            .node_with("bad", op_type, inputs, &["y"], attributes)
            .output("y")
            .graph()
    };
    let (square, image) = ([D::N(2), D::N(3)], [D::N(1), D::N(1), D::N(4), D::N(4)]);
    let not_set =
        AttributeProto { r#type: AttributeType::String as i32, s: b"NOTSET".to_vec(), ..attribute("auto_pad") };
    let cases = [
        (node(&square, "Transpose", &["x"], vec![perm(&[0, 0])]), "not an order of axes"),
        (node(&square, "Transpose", &["x"], vec![perm(&[0, 1 << 40])]), "not an order of axes"),
        (node(&square, "Transpose", &["x"], vec![perm(&[0])]), "rank 2"),
        (node(&image, "MaxPool", &["x"], vec![list("kernel_shape", &[1 << 31, 1 << 31])]), "kernel_shape"),
        (node(&image, "MaxPool", &["x"], vec![list("kernel_shape", &[5, 1])]), "takes 5 elements of axis 2"),
        (node(&image, "MaxPool", &["x"], vec![list("kernel_shape", &[5, 1]), not_set]), "takes 5 elements of axis 2"),
        (node(&image, "MaxPool", &["x"], vec![list("kernel_shape", &[2, 2]), list("strides", &[0, 1])]), "strides"),
        (node(&image, "AveragePool", &["x"], vec![list("kernel_shape", &[2])]), "needs 2"),
        (node(&square, "GatherND", &["x", "pair"], vec![int("batch_dims", 1 << 62)]), "batch_dims"),
        (node(&square, "GatherND", &["x", "zero"], vec![]), "rank 0"),
        (node(&square, "GatherND", &["x", "", "zero"], vec![]), "left out"),
        (node(&[], "DFT", &["x"], vec![]), "rank 0"),
        (node(&[], "LayerNormalization", &["x", "w"], vec![]), "rank 0"),
        (node(&square, "LayerNormalization", &["x", "w"], vec![int("axis", i64::MIN)]), "axis"),
        (node(&square, "Concat", &["x", "x"], vec![int("axis", 1 << 40)]), "there are 2 axes"),
        (node(&square, "CumSum", &["x", "far"], vec![]), "the axis 1099511627776"),
        (node(&square, "Dropout", &["x", "none", "none"], vec![]), "single number"),
        (node(&square, "ReduceSum", &["x", "w"], vec![]), "whole numbers"),
        (node(&square, "Unsqueeze", &["x", "far"], vec![]), "the axis"),
        (node(&square, "Squeeze", &["x"], vec![list("axes", &[0, -2])]), "twice"),
        (node(&square, "Sum", &["x"; 5000], vec![]), "5000 inputs"),
    ];
    let mut wrong = Vec::new();
    for (graph, needle) in cases {
        let shape = graph.value(graph.inputs[0]).shape.iter().flatten().map(|dim| dim.to_string().parse().unwrap());
        let shape: Vec<usize> = shape.collect();
        let x = Tensor::from_f32(shape.clone(), &vec![0.0; shape.iter().product()]).unwrap();
        for fidelity in FIDELITIES {
            match load(&graph, fidelity).and_then(|model| model.plan(std::slice::from_ref(&x))).map(drop) {
                Err(EngineError::Load { node: Some(node), reason }) if node == "bad" && reason.contains(needle) => {}
                other => wrong.push(format!("{} ({needle}): {other:?}", graph.operators[0].op_type)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns a tree of a root and two leaves, whose lists may be changed.
fn tree(changed: Option<(&str, [i64; 3])>) -> Arc<Graph> {
    let texts = |name: &str, values: &[&str]| AttributeProto {
        r#type: AttributeType::Strings as i32,
        strings: values.iter().map(|text| text.as_bytes().to_vec()).collect(),
        ..attribute(name)
    };
    let reals = |name: &str, values: &[f32]| AttributeProto {
        r#type: AttributeType::Floats as i32,
        floats: values.to_vec(),
        ..attribute(name)
    };
    let mut attributes = vec![
        list("nodes_treeids", &[0, 0, 0]),
        list("nodes_nodeids", &[0, 1, 2]),
        list("nodes_featureids", &[0, 0, 0]),
        list("nodes_truenodeids", &[1, 0, 0]),
        list("nodes_falsenodeids", &[2, 0, 0]),
        texts("nodes_modes", &["BRANCH_LEQ", "LEAF", "LEAF"]),
        reals("nodes_values", &[0.5, 0.0, 0.0]),
        list("class_treeids", &[0, 0]),
        list("class_nodeids", &[1, 2]),
        list("class_ids", &[0, 1]),
        reals("class_weights", &[1.0, 1.0]),
        list("classlabels_int64s", &[10, 20]),
    ];
    if let Some((name, numbers)) = changed {
        let place = attributes.iter_mut().find(|attribute| attribute.name == name).unwrap();
        place.ints = numbers[..place.ints.len()].to_vec();
    }
    Builder::default()
        .input("x", DataType::Float, &[D::N(1), D::N(2)])
        .node_with("bad", "ai.onnx.ml::TreeEnsembleClassifier", &["x"], &["label", "scores"], attributes)
        .output("label")
        .output("scores")
        .graph()
}

#[test]
fn nodes_that_are_no_tree_are_refused() {
    let x = [Tensor::from_f32(vec![1, 2], &[0.7, 0.0]).unwrap()];
    let plan = |graph: &Arc<Graph>| load(graph, Fidelity::Exact)?.plan(&x);
    let good = plan(&tree(None)).unwrap();
    assert_eq!(run(&*good, &x).unwrap()[0].bytes(), 20i64.to_le_bytes());
    for (name, numbers) in [
        ("nodes_truenodeids", [0, 0, 0]),
        ("nodes_truenodeids", [2, 0, 0]),
        ("nodes_falsenodeids", [1 << 40, 0, 0]),
        ("nodes_featureids", [2, 0, 0]),
        ("nodes_featureids", [-1, 0, 0]),
        ("nodes_nodeids", [0, 1, 1 << 40]),
        ("nodes_nodeids", [0, 1, 1]),
        ("class_ids", [0, 9, 0]),
    ] {
        match plan(&tree(Some((name, numbers)))).map(drop) {
            Err(EngineError::Load { node: Some(node), .. }) if node == "bad" => {}
            other => panic!("{name} {numbers:?}: {other:?}"),
        }
    }
}

/// The rank of a value that a branch takes from outside is known only once the inputs are known.
#[test]
fn what_is_not_allowed_is_refused_inside_of_a_branch_as_well() {
    let branch =
        |axes: &[i64]| Builder::default().node_with("inner", "Transpose", &["x"], &["b"], vec![perm(axes)]).output("b");
    for wrong in [&[0, 0][..], &[0, 2, 1]] {
        let branches = vec![subgraph("then_branch", branch(wrong)), subgraph("else_branch", branch(&[1, 0]))];
        let graph = Builder::default()
            .input("x", DataType::Float, &[D::N(2), D::N(3)])
            .input("choice", DataType::Bool, &[])
            .node_with("choose", "If", &["choice"], &["y"], branches)
            .output("y")
            .graph();
        let x = Tensor::from_f32(vec![2, 3], &[0.0; 6]).unwrap();
        let inputs = [x, Tensor::new(DType::Bool, vec![], vec![1]).unwrap()];
        for fidelity in FIDELITIES {
            let refused = load(&graph, fidelity).and_then(|model| model.plan(&inputs)).map(drop);
            let text = refused.unwrap_err().to_string();
            assert!(text.contains("inner") && text.contains("attribute perm"), "{text}");
        }
    }
}

/// With `ceil_mode` the last step of a pool may extend beyond the input.
#[test]
fn a_kernel_may_reach_over_the_end_of_the_input_where_its_output_is_rounded_up() {
    let pool = |ceil_mode| {
        let attributes = vec![list("kernel_shape", &[4]), list("strides", &[2]), int("ceil_mode", ceil_mode)];
        Builder::default()
            .input("x", DataType::Float, &[D::N(1), D::N(1), D::N(3)])
            .node_with("pool", "MaxPool", &["x"], &["y"], attributes)
            .output("y")
            .graph()
    };
    let x = [Tensor::from_f32(vec![1, 1, 3], &[1.0, 3.0, 2.0]).unwrap()];
    for fidelity in FIDELITIES {
        let plan = load(&pool(1), fidelity).unwrap().plan(&x).unwrap();
        assert_eq!(run(&*plan, &x).unwrap()[0], Tensor::from_f32(vec![1, 1, 1], &[3.0]).unwrap());
        assert!(load(&pool(0), fidelity).unwrap().plan(&x).is_err());
    }
}

#[test]
fn shapes_that_do_not_belong_together_are_refused_when_the_plan_is_made() {
    let node = |shape: &[D], other: &[i64], op_type: &str, attributes: Vec<AttributeProto>| {
        let elements = other.iter().product::<i64>() as usize;
        let other = match op_type {
            "Reshape" => ints("w", &[other.len() as i64], other),
            _ => floats("w", other, &vec![0.5; elements]),
        };
        Builder::default()
            .input("x", DataType::Float, shape)
            .initializer(other)
            .node("before", "Relu", &["x"], &["r"])
            .node_with("bad", op_type, &["r", "w"], &["v"], attributes)
            .node("after", "Relu", &["v"], &["y"])
            .output("y")
            .graph()
    };
    let (matrix, column, image) = ([D::N(2), D::N(3)], [D::N(2), D::N(1)], [D::N(1), D::N(3), D::N(4), D::N(4)]);
    let graphs = [
        node(&matrix, &[2, 4], "Add", vec![]),
        node(&matrix, &[4, 5], "MatMul", vec![]),
        node(&column, &[4, 5], "MatMul", vec![]),
        node(&matrix, &[4, 5], "Gemm", vec![]),
        node(&column, &[4, 5], "Gemm", vec![]),
        node(&matrix, &[5, 4], "Gemm", vec![int("transB", 1)]),
        node(&image, &[2, 4, 1, 1], "Conv", vec![]),
        node(&image, &[2, 1, 1, 1], "Conv", vec![]),
        node(&image, &[4, 2, 1, 1], "ConvTranspose", vec![]),
        node(&matrix, &[3, 4], "Concat", vec![int("axis", 0)]),
        node(&matrix, &[2, 3, 1], "Concat", vec![int("axis", 0)]),
        node(&matrix, &[4, 2], "Reshape", vec![]),
        node(&matrix, &[4, -1], "Reshape", vec![]),
        node(&matrix, &[2, 4], "Expand", vec![]),
    ];
    let mut wrong = Vec::new();
    for graph in graphs {
        let shape = graph.value(graph.inputs[0]).shape.iter().flatten().map(|dim| dim.to_string().parse().unwrap());
        let shape: Vec<usize> = shape.collect();
        let x = Tensor::from_f32(shape.clone(), &vec![0.5; shape.iter().product()]).unwrap();
        for fidelity in FIDELITIES {
            let what = format!("{} of {shape:?}, {fidelity}", graph.operators[1].op_type);
            match load(&graph, fidelity).and_then(|model| model.plan(std::slice::from_ref(&x))).map(drop) {
                Err(EngineError::Load { node: Some(node), .. }) if node == "bad" => {}
                other => wrong.push(format!("{what}: {other:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Wrong widths of an encoder whose file leaves every dimension open.
#[test]
fn a_width_that_the_weights_do_not_take_is_refused_at_an_operator() {
    let bytes = std::fs::read(models("tiny_transformer.onnx")).unwrap();
    let mut model = ModelProto::decode(&bytes[..]).unwrap();
    let input = &mut model.graph.as_mut().unwrap().input[0];
    let Some(type_proto::Value::TensorType(kind)) = input.r#type.as_mut().and_then(|kind| kind.value.as_mut()) else {
        panic!("the input is no tensor");
    };
    let mut width = 0;
    for dim in &mut kind.shape.as_mut().unwrap().dim {
        if let Some(tensor_shape_proto::dimension::Value::DimValue(number)) = dim.value {
            width = number as usize;
        }
        dim.value = None;
    }
    let graph = Graph::from_bytes(Path::new("made.onnx"), Bytes::from(model.encode_to_vec())).unwrap();
    let graph = Arc::new(graph);
    let rank = graph.value(graph.inputs[0]).shape.as_ref().unwrap().len();
    let plan = |fidelity, width: usize| {
        let mut shape = vec![1; rank];
        shape[rank - 1] = width;
        shape[rank - 2] = 4;
        let x = Tensor::from_f32(shape, &vec![0.5; 4 * width]).unwrap();
        load(&graph, fidelity)?.plan(&[x])
    };
    for fidelity in FIDELITIES {
        plan(fidelity, width).unwrap();
        for wrong in [width / 2, width * 2] {
            match plan(fidelity, wrong).map(drop) {
                Err(EngineError::Load { node: Some(_), .. }) => {}
                other => panic!("{fidelity}, {wrong} instead of {width}: {other:?}"),
            }
        }
    }
}

#[test]
fn more_operators_than_the_budget_allows_are_refused_at_once() {
    let mut graph = Builder::default().input("v0", DataType::Float, &[D::N(1)]);
    for index in 0..50_001 {
        graph = graph.node("", "Relu", &[&format!("v{index}")], &[&format!("v{}", index + 1)]);
    }
    let graph = graph.output("v50001").graph();
    let refused = load(&graph, Fidelity::Exact).err();
    match refused {
        Some(EngineError::OverBudget { reason, .. }) => {
            assert!(reason.contains("50001 operators") && reason.contains("load budget of 2"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    let mut options = LoadOptions::new(Fidelity::Exact, NonZeroUsize::MIN);
    options.budget = "2".parse().unwrap();
    TractEngine.load(graph, &options).map(drop).unwrap();
}
