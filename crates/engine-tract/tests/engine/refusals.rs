//! What the engine lacks, or cannot interpret: one sentence with the node's name.

use std::sync::Arc;

use opscope_model::{EngineError, Fidelity};
use opscope_onnx::Graph;
use opscope_tensor::{DType, Tensor};
use tract_onnx::pb::tensor_proto::DataType;

use crate::builder::{Builder, D, floats, int, ints, subgraph};
use crate::files::{FIDELITIES, load, run};

fn unsupported(graph: &Arc<Graph>) -> (String, String) {
    match load(graph, Fidelity::Exact).err() {
        Some(EngineError::UnsupportedOperator { node, op_type }) => (node, op_type),
        other => panic!("{other:?}"),
    }
}

fn on_x() -> Builder {
    Builder::default().input("x", DataType::Float, &[D::N(2), D::N(3)])
}

#[test]
fn an_operator_of_another_domain_is_not_taken_for_onnxs_own() {
    let graph = on_x().node("vendor", "com.example::Relu", &["x"], &["y"]).output("y").graph();
    assert_eq!(unsupported(&graph), ("vendor".to_owned(), "com.example.Relu".to_owned()));
    let plain = on_x().node("own", "ai.onnx::Relu", &["x"], &["y"]).output("y").graph();
    load(&plain, Fidelity::Exact).unwrap();
}

#[test]
fn an_operator_that_is_missing_inside_of_a_branch_is_named_with_the_node_around_it() {
    let branch = |op_type| {
        Builder::default().node("inner", op_type, &["x"], &["b"]).node("", "Relu", &["b"], &["a"]).output("a")
    };
    let innermost = vec![subgraph("then_branch", branch("Frobnicate")), subgraph("else_branch", branch("Relu"))];
    let middle = Builder::default().node_with("middle", "If", &["choice"], &["m"], innermost).output("m");
    let graph = on_x()
        .input("choice", DataType::Bool, &[])
        .node_with(
            "choose",
            "If",
            &["choice"],
            &["y"],
            vec![subgraph("then_branch", middle), subgraph("else_branch", branch("Relu"))],
        )
        .output("y")
        .graph();
    for fidelity in FIDELITIES {
        let model = load(&graph, fidelity).unwrap();
        let inputs = |choice: u8| {
            [
                Tensor::from_f32(vec![2, 3], &[-1.0, 2.0, 0.0, 0.0, 0.0, 0.0]).unwrap(),
                Tensor::new(DType::Bool, vec![], vec![choice]).unwrap(),
            ]
        };
        match model.plan(&inputs(1)).err() {
            Some(EngineError::UnsupportedOperator { node, op_type }) => {
                assert_eq!((&*node, &*op_type), ("choose/middle/inner", "Frobnicate"));
            }
            other => panic!("{other:?}"),
        }
        // If the other branch is taken, it does not matter.
        let inputs = inputs(0);
        let outputs = run(&*model.plan(&inputs).unwrap(), &inputs).unwrap();
        assert_eq!(outputs[0], Tensor::from_f32(vec![2, 3], &[0.0, 2.0, 0.0, 0.0, 0.0, 0.0]).unwrap());
    }
}

#[test]
fn types_that_the_engine_lacks_are_named() {
    let bf16 = |name| tract_onnx::pb::TensorProto {
        data_type: DataType::Bfloat16 as i32,
        float_data: vec![],
        raw_data: vec![0; 2],
        ..floats(name, &[1], &[])
    };
    let weight = on_x().initializer(bf16("w")).node("add", "Add", &["x", "w"], &["y"]).output("y").graph();
    let constant = on_x()
        .node_with("make", "Constant", &[], &["w"], vec![crate::builder::tensor("value", bf16(""))])
        .node("add", "Add", &["x", "w"], &["y"])
        .output("y")
        .graph();
    let cast = on_x()
        .node_with("narrow", "Cast", &["x"], &["y"], vec![int("to", DataType::Bfloat16 as i64)])
        .output("y")
        .graph();
    let input = Builder::default()
        .input("z", DataType::Bfloat16, &[D::N(1)])
        .node("same", "Identity", &["z"], &["y"])
        .output("y")
        .graph();
    for (graph, what) in [(weight, "'w'"), (constant, "'make'"), (cast, "'narrow'"), (input, "'z'")] {
        let error = load(&graph, Fidelity::Optimised).err().expect("it was not refused").to_string();
        assert!(error.contains("bfloat16") && error.contains(what), "{error}");
    }
}

#[test]
fn a_node_that_makes_no_sense_is_named_in_one_short_sentence() {
    let x = Tensor::from_f32(vec![2, 3], &[0.0; 6]).unwrap();
    let node = |op_type, inputs: &[&str], attributes| {
        on_x()
            .initializer(floats("w", &[4, 5], &[0.0; 20]))
            .initializer(ints("far", &[1], &[7]))
            .node("good", "Relu", &["x"], &["r"])
            .node_with("bad/node.1", op_type, inputs, &["y"], attributes)
            .output("y")
            .graph()
    };
    let graphs = [
        node("MatMul", &["r", "w"], vec![]),
        node("Add", &["r", "w"], vec![]),
        node("Concat", &["r", "w"], vec![int("axis", 9)]),
        node("Concat", &["r", "w"], vec![]),
        node("Conv", &["r", "w"], vec![]),
        node("Reshape", &["r", "far"], vec![]),
        node("Gemm", &["r"], vec![]),
        node("Cast", &["r"], vec![int("to", 99)]),
        node("Relu", &[], vec![]),
        node("Transpose", &["r"], vec![crate::builder::perm(&[5, 5])]),
    ];
    let mut wrong = Vec::new();
    for graph in graphs {
        let op_type = &graph.operator_named("bad/node.1").unwrap().op_type;
        let inputs = std::slice::from_ref(&x);
        let outcome = load(&graph, Fidelity::Exact).and_then(|model| crate::files::run(&*model.plan(inputs)?, inputs));
        match outcome.map(|_| ()) {
            Ok(()) => wrong.push(format!("{op_type} was not refused")),
            Err(error) => {
                let text = error.to_string();
                println!("{op_type}: {text}");
                let is_readable = text.contains("'bad/node.1'")
                    && text.len() < 260
                    && !text.contains('\n')
                    && !text.contains("opscope:")
                    && !text.contains(" {")
                    && !text.contains("Infering");
                if !is_readable {
                    wrong.push(format!("{op_type}: {text}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_failure_in_a_run_names_the_node() {
    let graph = Builder::default()
        .input("x", DataType::Float, &[D::N(3)])
        .input("at", DataType::Int64, &[D::N(100)])
        .node("pick", "Gather", &["x", "at"], &["y"])
        .output("y")
        .graph();
    let run = |index: i64, fidelity| {
        let at = [vec![2i64, -3, 0], vec![index; 97]].concat();
        let inputs = [Tensor::from_f32(vec![3], &[0.0; 3]).unwrap(), Tensor::from_i64(vec![100], &at).unwrap()];
        let plan = load(&graph, fidelity).unwrap().plan(&inputs).unwrap();
        crate::files::run(&*plan, &inputs).map(|_| ()).map_err(|error| error.to_string())
    };
    for fidelity in Fidelity::ALL {
        assert_eq!(run(-1, fidelity), Ok(()));
        for index in [1000, 3, -4, i64::MIN] {
            let error = run(index, fidelity).unwrap_err();
            assert!(error.contains("the run failed at node 'pick'") && error.len() < 300, "{error}");
            assert!(error.contains(&format!("Gather takes index {index} of axis 0, which has 3 entries")), "{error}");
        }
    }
}

#[test]
fn an_index_out_of_range_is_no_row_of_another_block() {
    // On an axis after another one, the kernel would read the next block's row there.
    let graph = Builder::default()
        .input("x", DataType::Float, &[D::N(2), D::N(3)])
        .input("at", DataType::Int64, &[D::N(1)])
        .node_with("pick", "Gather", &["x", "at"], &["y"], vec![int("axis", 1)])
        .output("y")
        .graph();
    let x = Tensor::from_f32(vec![2, 3], &[0.0; 6]).unwrap();
    let inputs = [x, Tensor::from_i64(vec![1], &[3]).unwrap()];
    for fidelity in Fidelity::ALL {
        let plan = load(&graph, fidelity).unwrap().plan(&inputs).unwrap();
        let error = crate::files::run(&*plan, &inputs).unwrap_err().to_string();
        assert!(error.contains("Gather takes index 3 of axis 1, which has 3 entries"), "{error}");
    }
}

#[test]
fn indices_of_either_type_are_checked_also_in_bodies() {
    let looked_up = |op_type: &str, body: Builder| {
        let taken: &[&str] = if op_type.starts_with("Scatter") { &["xs", "at", "u"] } else { &["xs", "at"] };
        body.node("pick", op_type, taken, &["p"]).output("p")
    };
    let model = |op_type: &str, dtype: DataType, place: &str| {
        let at: &[D] = if place == "Scan" { &[D::N(2), D::N(1)] } else { &[D::N(1)] };
        let graph = Builder::default()
            .input("x", DataType::Float, &[D::N(3)])
            .input("where", dtype, at)
            .initializer(floats("u", &[1], &[7.0]));
        let copies =
            |graph: Builder| graph.node("", "Identity", &["x"], &["xs"]).node("", "Identity", &["where"], &["at"]);
        match place {
            "If" => {
                let other = Builder::default().node("", "Identity", &["p_else"], &["p"]).output("p");
                let other = other.node(
                    "",
                    "Slice",
                    &["xs", "zero", if op_type.starts_with("Scatter") { "three" } else { "one" }],
                    &["p_else"],
                );
                let branches = vec![
                    subgraph("then_branch", looked_up(op_type, Builder::default())),
                    subgraph("else_branch", other),
                ];
                copies(graph)
                    .initializer(ints("zero", &[1], &[0]))
                    .initializer(ints("one", &[1], &[1]))
                    .initializer(ints("three", &[1], &[3]))
                    .node("positive", "ReduceMax", &["x"], &["largest"])
                    .initializer(floats("limit", &[1], &[0.0]))
                    .node("choice", "Greater", &["largest", "limit"], &["choice"])
                    .node_with("outer", "If", &["choice"], &["y"], branches)
                    .output("y")
                    .graph()
            }
            "Scan" => {
                let body = Builder::default()
                    .input("xs", DataType::Float, &[D::N(3)])
                    .input("at", dtype, &[D::N(1)])
                    .initializer(floats("u", &[1], &[7.0]))
                    .node("same", "Neg", &["xs"], &["xs_after"])
                    .output("xs_after");
                let attributes = vec![int("num_scan_inputs", 1), subgraph("body", looked_up(op_type, body))];
                graph.node_with("outer", "Scan", &["x", "where"], &["last", "y"], attributes).output("y").graph()
            }
            "Loop" => {
                let body = Builder::default()
                    .input("i", DataType::Int64, &[])
                    .input("continues", DataType::Bool, &[])
                    .input("before", DataType::Float, &[D::S("n")])
                    .node("", "Identity", &["continues"], &["goes_on"])
                    .output("goes_on");
                let first = if op_type.starts_with("Scatter") { "xs" } else { "u" };
                let body = vec![subgraph("body", looked_up(op_type, body))];
                copies(graph)
                    .initializer(ints("twice", &[], &[2]))
                    .node_with("outer", "Loop", &["twice", "", first], &["y"], body)
                    .output("y")
                    .graph()
            }
            _ => looked_up(op_type, copies(graph)).graph(),
        }
    };
    for (op_type, dtype, place) in ["Gather", "GatherElements", "ScatterElements"].into_iter().flat_map(|op_type| {
        let both = [DataType::Int32, DataType::Int64].into_iter();
        both.flat_map(move |dtype| ["main", "If", "Loop", "Scan"].map(|place| (op_type, dtype, place)))
    }) {
        let graph = model(op_type, dtype, place);
        let run = |index: i64, fidelity| {
            let indices: &[i64] = if place == "Scan" { &[0, index] } else { &[index] };
            let bytes: Vec<u8> = match dtype {
                DataType::Int32 => indices.iter().flat_map(|index| (*index as i32).to_le_bytes()).collect(),
                _ => indices.iter().flat_map(|index| index.to_le_bytes()).collect(),
            };
            let shape = if place == "Scan" { vec![2, 1] } else { vec![1] };
            let dtype = if dtype == DataType::Int32 { DType::I32 } else { DType::I64 };
            let inputs =
                [Tensor::from_f32(vec![3], &[1.0, 2.0, 3.0]).unwrap(), Tensor::new(dtype, shape, bytes).unwrap()];
            let plan = load(&graph, fidelity).unwrap().plan(&inputs).unwrap();
            crate::files::run(&*plan, &inputs).map(|_| ())
        };
        for fidelity in FIDELITIES {
            let which = format!("{op_type} {dtype:?} {place} {fidelity}");
            run(-3, fidelity).unwrap_or_else(|error| panic!("{which}: {error}"));
            for index in [3, -4] {
                let error = run(index, fidelity).unwrap_err();
                assert!(matches!(error, EngineError::Index { .. }), "{which}: {error:?}");
                let text = error.to_string();
                let node = if place == "main" { "pick" } else { "outer" };
                assert!(text.contains(&format!("at node '{node}'")), "{which}: {text}");
                assert!(text.contains(&format!("{op_type} takes index {index} of axis 0")), "{which}: {text}");
                let sources = if place == "main" { "the input 'where'" } else { "the inputs 'x', 'where'" };
                assert!(text.contains(sources), "{which}: {text}");
            }
        }
    }
}
