//! Names, order, captured values and attributes.

use std::fs;

use opscope_onnx::{Attribute, Graph, OnnxError, Producer};
use opscope_tensor::DType;
use tempfile::TempDir;

use crate::files::{fixture, from_bytes};
use crate::wire::{Message, graph, model, node, subgraph};

fn names(graph: &Graph) -> Vec<&str> {
    graph.operators.iter().map(|operator| operator.name.as_str()).collect()
}

#[test]
fn every_operator_has_a_name_of_its_own_and_real_names_are_kept() {
    let nodes = [
        node("", "Relu", &["x"], &["a"]),
        node("same", "Relu", &["a"], &["b"]),
        node("same", "Relu", &["b"], &["c"]),
        node("Relu_0", "Relu", &["c"], &["d"]),
        node("same_2", "Relu", &["d"], &["e"]),
    ];
    let graph = from_bytes(model(graph(&nodes, &["x"], &["e"]))).unwrap();
    assert_eq!(names(&graph), ["Relu_0_2", "same", "same_3", "Relu_0", "same_2"]);
}

#[test]
fn an_unsorted_file_is_put_in_order_and_a_sorted_one_keeps_its_own() {
    let unsorted = [node("last", "Relu", &["b"], &["c"]), node("middle", "Relu", &["a"], &["b"])];
    let first = node("first", "Relu", &["x"], &["a"]);
    let graph_of = |nodes: &[Message]| from_bytes(model(graph(nodes, &["x"], &["c"]))).unwrap();
    let sorted = graph_of(&[unsorted[0].clone(), unsorted[1].clone(), first]);
    assert_eq!(names(&sorted), ["first", "middle", "last"]);
    assert_eq!(sorted.operators.iter().map(|operator| operator.position).collect::<Vec<_>>(), [2, 1, 0]);

    let branches = [node("b", "Relu", &["x"], &["p"]), node("a", "Relu", &["x"], &["q"])];
    let kept = from_bytes(model(graph(&branches, &["x"], &["p", "q"]))).unwrap();
    assert_eq!(names(&kept), ["b", "a"]);
}

#[test]
fn of_a_cycle_those_are_named_that_are_on_it() {
    let nodes = [
        node("before", "Relu", &["x"], &["a"]),
        node("one", "Add", &["a", "d"], &["b"]),
        node("", "Relu", &["b"], &["c"]),
        node("three", "Relu", &["c"], &["d"]),
        node("behind", "Relu", &["d"], &["e"]),
        node("far behind", "Relu", &["e"], &["f"]),
    ];
    let error = from_bytes(model(graph(&nodes, &["x"], &["f"]))).unwrap_err().to_string();
    assert!(error.contains("'one', 'Relu_2', 'three' wait for each other"), "{error}");
    assert!(!error.contains("behind") && !error.contains("before"), "{error}");

    let error = fixture("self_cycle").unwrap_err().to_string();
    assert!(error.contains("takes its own output"), "{error}");
}

#[test]
fn a_cycle_through_an_inner_graph_is_found() {
    let inner = graph(&[node("inside", "Relu", &["b"], &["r"])], &[], &["r"]);
    let nodes = [
        node("choose", "If", &["x"], &["a"]).message(5, subgraph("then_branch", inner)),
        node("next", "Relu", &["a"], &["b"]),
    ];
    let error = from_bytes(model(graph(&nodes, &["x"], &["b"]))).unwrap_err().to_string();
    assert!(error.contains("'choose', 'next'"), "{error}");
}

#[test]
fn inner_graphs_capture_what_they_take_from_outside_at_any_depth() {
    let innermost = graph(&[node("", "Add", &["deep", "local"], &["r"])], &[], &["r"]);
    let inner_nodes = [
        node("", "Relu", &["near"], &["local"]),
        node("", "If", &["flag"], &["s"]).message(5, subgraph("then_branch", innermost)),
    ];
    let inner = graph(&inner_nodes, &[], &["s"]);
    let nodes = [
        node("deep", "Relu", &["x"], &["deep"]),
        node("near", "Relu", &["x"], &["near"]),
        node("flag", "Relu", &["x"], &["flag"]),
        node("choose", "If", &["x"], &["y"]).message(5, subgraph("then_branch", inner)),
    ];
    let graph = from_bytes(model(graph(&nodes, &["x"], &["y"]))).unwrap();
    let choose = graph.operator_named("choose").unwrap();
    let captured: Vec<_> = choose.captures.iter().map(|&value| graph.value(value).name.as_str()).collect();
    assert_eq!(captured, ["deep", "flag", "near"]);
    assert!(graph.value_named("deep").unwrap().consumers.contains(&choose.id));
    assert!(graph.value_named("local").is_none(), "what lives inside is no value of the graph");
    assert!(graph.depends_on_input()[graph.value_named("y").unwrap().id.index()]);
}

#[test]
fn attributes_are_read_with_their_types_and_without() {
    let attribute = |name: &str, kind: i64| {
        let attribute = Message::default().text(1, name);
        if kind == 0 { attribute } else { attribute.int(20, kind) }
    };
    let tensor = Message::default().int(1, 2).int(2, 7).bytes(9, &[0; 16]);
    let attributes = [
        attribute("float", 1).float(2, 0.5),
        attribute("zero", 1),
        attribute("int", 2).int(3, -7),
        attribute("text", 3).bytes(4, b"caf\xc3\xa9"),
        attribute("tensor", 4).message(5, tensor),
        attribute("floats", 6).float(7, 1.0).float(7, 2.0),
        attribute("ints", 7).int(8, 1).int(8, -2),
        attribute("texts", 8).bytes(9, b"a").bytes(9, b"b"),
        attribute("old ints", 0).int(8, 3),
        attribute("old float", 0).float(2, 0.25),
        attribute("sparse", 11),
    ];
    let node = attributes.into_iter().fold(node("n", "Relu", &["x"], &["y"]), |node, one| node.message(5, one));
    let graph = from_bytes(model(graph(&[node], &["x"], &["y"]))).unwrap();
    let attributes = &graph.operators[0].attributes;
    assert_eq!(attributes["float"], Attribute::Float(0.5));
    assert_eq!(attributes["zero"], Attribute::Float(0.0));
    assert_eq!(attributes["int"], Attribute::Int(-7));
    assert_eq!(attributes["text"], Attribute::String("café".to_owned()));
    assert!(
        matches!(&attributes["tensor"], Attribute::Tensor(info) if info.dtype == Some(DType::I64) && info.shape == [2])
    );
    assert_eq!(attributes["floats"], Attribute::Floats(vec![1.0, 2.0]));
    assert_eq!(attributes["ints"], Attribute::Ints(vec![1, -2]));
    assert_eq!(attributes["texts"], Attribute::Strings(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(attributes["old ints"], Attribute::Ints(vec![3]));
    assert_eq!(attributes["old float"], Attribute::Float(0.25));
    assert_eq!(attributes["sparse"], Attribute::Other);
}

#[test]
fn weights_that_are_listed_as_inputs_are_no_inputs() {
    let graph = fixture("initializer_inputs").unwrap();
    let inputs: Vec<_> = graph.inputs.iter().map(|&input| graph.value(input).name.as_str()).collect();
    assert_eq!(inputs, ["x"]);
    assert!(graph.values.iter().any(|value| value.producer == Producer::Initializer));
}

#[test]
fn an_optional_input_that_is_left_out_keeps_its_place() {
    let graph = fixture("optional_inputs").unwrap();
    let clip = graph.operators.iter().find(|operator| operator.op_type == "Clip").unwrap();
    assert_eq!(clip.inputs.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
}

#[test]
fn what_is_no_model_is_told_apart() {
    let directory = TempDir::new().unwrap();
    let load = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        Graph::load(&path).unwrap_err()
    };
    assert!(matches!(load("empty.onnx", b""), OnnxError::Empty(_)));
    assert!(matches!(load("text.onnx", b"not a model at all"), OnnxError::NotOnnx { .. }));
    let offline = load("net.om", b"IMOD");
    assert!(offline.to_string().contains("pass the .onnx file that it was converted from"), "{offline}");
    assert!(matches!(Graph::load(directory.path()).unwrap_err(), OnnxError::NotAFile { .. }));
    // A sparse file takes no disk space.
    let large = directory.path().join("large.onnx");
    std::fs::File::create(&large).unwrap().set_len(1 << 31).unwrap();
    assert!(matches!(Graph::load(&large).unwrap_err(), OnnxError::TooLarge(path) if path == large));
    assert!(matches!(Graph::load(&directory.path().join("nowhere.onnx")).unwrap_err(), OnnxError::Read { .. }));
}

#[test]
fn a_long_cycle_is_named_by_its_first_four_nodes() {
    let cycle = |length: usize| {
        let name = |index: usize| format!("v{}", index % length);
        let nodes: Vec<_> =
            (0..length).map(|index| node(&format!("n{index}"), "Relu", &[&name(index)], &[&name(index + 1)])).collect();
        from_bytes(model(graph(&nodes, &["x"], &["v0"]))).unwrap_err().to_string()
    };
    assert!(cycle(1).contains("the node 'n0' takes its own output"), "{}", cycle(1));
    assert!(cycle(4).contains("the nodes 'n0', 'n1', 'n2', 'n3' wait for each other's outputs in a cycle"));
    assert!(cycle(5).contains("the nodes 'n0', 'n1', 'n2', 'n3', ... wait for each other's outputs in a cycle"));
}

#[test]
fn values_depend_on_an_input_unless_only_its_shape_is_taken() {
    let nodes = [
        node("a", "Relu", &["x"], &["a"]),
        node("s", "Shape", &["a"], &["s"]),
        node("t", "Cast", &["s"], &["t"]),
        node("b", "Add", &["t", "a"], &["b"]),
        node("c", "ConstantOfShape", &["t"], &["c"]),
        node("d", "Add", &["c", "t"], &["d", "e"]),
        node("n", "Size", &["a"], &["n"]),
    ];
    let graph = from_bytes(model(graph(&nodes, &["x"], &["b", "d"]))).unwrap();
    let depends = graph.depends_on_input();
    let of = |name: &str| depends[graph.value_named(name).unwrap().id.index()];
    assert_eq!(["x", "a", "b"].map(of), [true; 3]);
    assert_eq!(["s", "t", "c", "d", "e", "n"].map(of), [false; 6]);
    assert!(graph.value_named("nothing").is_none() && graph.operator_named("a").is_some());
}

#[test]
fn attributes_and_sizes_are_shown_as_people_read_them() {
    let tensor = |dtype| Attribute::Tensor(opscope_onnx::TensorInfo { dtype, shape: vec![2, 3] });
    for (attribute, text) in [
        (Attribute::Float(0.5), "0.5"),
        (Attribute::Int(-7), "-7"),
        (Attribute::String("a\n".into()), "\"a\\n\""),
        (tensor(Some(DType::F32)), "float32 [2, 3]"),
        (tensor(None), "a tensor [2, 3]"),
        (Attribute::Floats(vec![1.0, 2.5]), "[1.0, 2.5]"),
        (Attribute::Ints(vec![1, -2]), "[1, -2]"),
        (Attribute::Strings(vec!["a".into()]), "[\"a\"]"),
        (Attribute::Graph { name: "body".into(), operators: 3 }, "graph \"body\" of 3 operators"),
        (Attribute::Other, "of a type that is not shown"),
    ] {
        assert_eq!(attribute.to_string(), text);
    }
    use opscope_onnx::Dim;
    let dims = [Dim::Fixed(7), Dim::Symbol("batch".into()), Dim::Symbol(String::new())];
    assert_eq!(dims.each_ref().map(ToString::to_string), ["7", "batch", "?"]);
    assert!(Dim::any_open(&dims) && !Dim::any_open(&dims[..1]) && !Dim::any_open(&[]));
}

#[test]
fn operators_of_one_type_in_one_module_are_numbered_and_single_ones_are_not() {
    // Metadata is field 9 of a node, with a key and a value.
    let within = |node: Message, scopes: &str| {
        node.message(9, Message::default().text(1, "pkg.torch.onnx.name_scopes").text(2, scopes))
    };
    let nodes = [
        within(node("a", "MatMul", &["x", "x"], &["a"]), "['', 'layers.0', 'q']"),
        within(node("b", "MatMul", &["a", "x"], &["b"]), "['', 'layers.0', 'k']"),
        within(node("c", "Add", &["b", "x"], &["c"]), "['', 'layers.0', 'sum']"),
        within(node("d", "MatMul", &["c", "x"], &["d"]), "['', 'layers.1', 'q']"),
        node("e", "Relu", &["d"], &["y"]),
    ];
    let graph = from_bytes(model(graph(&nodes, &["x"], &["y"]))).unwrap();
    let names: Vec<_> = graph.operators.iter().map(|operator| operator.display_name()).collect();
    assert_eq!(names, ["layers.0 (MatMul #1)", "layers.0 (MatMul #2)", "layers.0 (Add)", "layers.1 (MatMul)", "e"]);
    assert_eq!(graph.operator_named("layers.0 (MatMul #2)").map(|operator| operator.name.as_str()), Some("b"));
    let all: Vec<_> = graph.operators[0].names().collect();
    assert_eq!(all, ["a", "layers.0 (MatMul #1)", "layers.0"]);
}
