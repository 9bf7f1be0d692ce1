//! Models with some operators in a narrower type: types agree at every operator, with no `Cast` too many.

use std::collections::{HashMap, HashSet};

use opscope_onnx::proto::{
    AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto, attribute_type, dimension,
};
use opscope_onnx::{Graph, Lowering, OperatorId, ValueTypes};
use opscope_tensor::DType;
use proptest::prelude::*;
use prost::Message;

const FLOAT: i32 = 1;
const INT64: i32 = 7;
const FLOAT16: i32 = 10;

fn typed(name: &str, elem_type: i32) -> ValueInfoProto {
    let dim = DimensionProto { value: Some(dimension::Value::Number(4)), ..DimensionProto::default() };
    let shape = Some(TensorShapeProto { dim: vec![dim] });
    let tensor_type = Some(TensorTypeProto { elem_type, shape });
    let r#type = Some(TypeProto { tensor_type, ..TypeProto::default() });
    ValueInfoProto { name: name.to_owned(), r#type, ..ValueInfoProto::default() }
}

fn node(op_type: &str, inputs: &[&str], output: &str) -> NodeProto {
    NodeProto {
        op_type: op_type.to_owned(),
        name: format!("{op_type} of {output}"),
        input: inputs.iter().map(|&name| name.to_owned()).collect(),
        output: vec![output.to_owned()],
        ..NodeProto::default()
    }
}

fn cast(input: &str, output: &str, to: i32) -> NodeProto {
    let attribute = AttributeProto {
        name: "to".to_owned(),
        i: i64::from(to),
        r#type: attribute_type::INT,
        ..AttributeProto::default()
    };
    NodeProto { attribute: vec![attribute], ..node("Cast", &[input], output) }
}

fn weight(name: &str) -> TensorProto {
    TensorProto {
        name: name.to_owned(),
        dims: vec![4],
        data_type: FLOAT,
        float_data: vec![1.0, 2.5, 65504.0, 1e-9],
        ..TensorProto::default()
    }
}

fn constant(output: &str) -> NodeProto {
    let attribute = AttributeProto {
        name: "value_floats".to_owned(),
        floats: vec![0.1, 0.2, 0.3, 0.4],
        r#type: attribute_type::FLOATS,
        ..AttributeProto::default()
    };
    NodeProto { attribute: vec![attribute], ..node("Constant", &[], output) }
}

fn model(graph: GraphProto) -> Graph {
    let opset_import = vec![OperatorSetIdProto { domain: String::new(), version: 17 }];
    let model = ModelProto { ir_version: 3, graph: Some(graph), opset_import, ..ModelProto::default() };
    Graph::from_bytes("model.onnx".as_ref(), model.encode_to_vec().into()).expect("the model is valid")
}

/// Lowers the operators that `is_lowered` chooses among the candidates, by their place.
fn lower(graph: &Graph, is_lowered: impl Fn(usize) -> bool) -> (GraphProto, HashSet<OperatorId>) {
    let lowering = Lowering::new(graph, DType::F16, &ValueTypes::infer(graph, []));
    let candidates = lowering.candidates().enumerate().filter(|(place, _)| is_lowered(*place));
    let lowered: HashSet<OperatorId> = candidates.map(|(_, operator)| operator.id).collect();
    let bytes = lowering.file(&lowered).unwrap().encode().unwrap();
    Graph::from_bytes("lowered.onnx".as_ref(), bytes.clone()).expect("the written model is valid");
    (ModelProto::decode(bytes).unwrap().graph.unwrap(), lowered)
}

/// Checks a graph and those inside it, given the types of the values around it. Returns the types of its outputs.
fn check(graph: &GraphProto, around: &HashMap<String, i32>) -> Vec<i32> {
    let mut types = around.clone();
    let mut casts = HashSet::new();
    let elem_type = |info: &ValueInfoProto| info.r#type.as_ref().unwrap().tensor_type.as_ref().unwrap().elem_type;
    types.extend(graph.initializer.iter().map(|tensor| (tensor.name.clone(), tensor.data_type)));
    types.extend(graph.input.iter().map(|input| (input.name.clone(), elem_type(input))));
    let mut used: HashSet<&str> = graph.output.iter().map(|output| output.name.as_str()).collect();
    for node in &graph.node {
        let inputs: Vec<i32> = node
            .input
            .iter()
            .map(|name| *types.get(name).unwrap_or_else(|| panic!("{name} is not computed before {}", node.name)))
            .collect();
        used.extend(node.input.iter().map(String::as_str));
        for (_, body) in node.graphs() {
            for output in check(body, &types) {
                assert_eq!(output, FLOAT, "an output of a body in {}", node.name);
            }
            used.extend(body.node.iter().flat_map(|node| node.input.iter().map(String::as_str)));
        }
        let result = match node.op_type.as_str() {
            "Cast" => {
                assert!(!casts.contains(&node.input[0]), "{} stands behind another Cast", node.name);
                casts.insert(node.output[0].clone());
                let to = node.attribute[0].i as i32;
                assert_ne!(to, inputs[0], "{} converts to the type that is there", node.name);
                to
            }
            "Constant" => node.attribute[0].t.as_ref().map_or(FLOAT, |tensor| tensor.data_type),
            "If" => FLOAT,
            _ => {
                assert!(inputs.iter().all(|input| *input == inputs[0]), "{} takes {inputs:?}", node.name);
                inputs[0]
            }
        };
        assert!(types.insert(node.output[0].clone(), result).is_none(), "{} has two producers", node.output[0]);
    }
    for tensor in &graph.initializer {
        assert!(used.contains(tensor.name.as_str()), "nothing takes {}", tensor.name);
    }
    for info in graph.value_info.iter().filter(|info| types.contains_key(&info.name)) {
        assert_eq!(elem_type(info), types[&info.name], "what is declared of {}", info.name);
    }
    graph.output.iter().map(|output| types[&output.name]).collect()
}

/// A graph of additions, sums with constants, casts and branches over earlier values.
fn any_graph() -> impl Strategy<Value = GraphProto> {
    let step = (0..6u8, any::<prop::sample::Index>(), any::<prop::sample::Index>());
    (proptest::collection::vec(step, 1..24), any::<prop::sample::Index>()).prop_map(|(steps, second)| {
        let mut graph = GraphProto {
            name: "graph".to_owned(),
            input: vec![typed("x", FLOAT), typed("ids", INT64)],
            initializer: vec![weight("w"), weight("unshared")],
            ..GraphProto::default()
        };
        graph.node = vec![constant("c"), cast("ids", "float ids", FLOAT), node("Transpose", &["w"], "moved w")];
        graph.node.push(node("Add", &["x", "unshared"], "v0"));
        let mut values: Vec<String> =
            ["x", "w", "c", "float ids", "moved w", "v0"].iter().map(|&name| name.to_owned()).collect();
        for (number, (kind, a, b)) in steps.into_iter().enumerate() {
            let (a, b) = (a.get(&values).clone(), b.get(&values).clone());
            let output = format!("v{}", number + 1);
            let made = match kind {
                0 | 1 => node("Add", &[&a, &b], &output),
                2 => node("Relu", &[&a], &output),
                3 => node("Mul", &[&a, "w"], &output),
                4 => {
                    let (whole, negative) = (format!("{output} whole"), format!("{output} negative"));
                    // No Cast of the original stands behind another one.
                    let positive = format!("{output} positive");
                    graph.node.extend([node("Abs", &[&a], &positive), cast(&positive, &whole, INT64)]);
                    graph.node.push(node("Neg", &[&whole], &negative));
                    graph.value_info.extend([typed(&whole, INT64), typed(&negative, INT64)]);
                    cast(&negative, &output, FLOAT)
                }
                _ => branch(&a, &b, &output),
            };
            graph.node.push(made);
            graph.value_info.push(typed(&output, FLOAT));
            values.push(output);
        }
        let last = values.last().unwrap().clone();
        let second = second.get(&values[5..]).clone();
        graph.output = vec![typed(&last, FLOAT)];
        if second != last {
            graph.output.push(typed(&second, FLOAT));
        }
        graph
    })
}

fn branch(a: &str, b: &str, output: &str) -> NodeProto {
    let body = |op_type: &str, inputs: &[&str]| GraphProto {
        name: op_type.to_owned(),
        node: vec![node(op_type, inputs, &format!("{output} {op_type}"))],
        output: vec![typed(&format!("{output} {op_type}"), FLOAT)],
        ..GraphProto::default()
    };
    let graph = |name: &str, graph: GraphProto| AttributeProto {
        name: name.to_owned(),
        g: Some(graph),
        r#type: attribute_type::GRAPH,
        ..AttributeProto::default()
    };
    let attribute = vec![graph("then_branch", body("Sub", &[a, b])), graph("else_branch", body("Neg", &[a]))];
    NodeProto { attribute, ..node("If", &["condition"], output) }
}

proptest! {
    #[test]
    fn types_agree_at_every_operator_and_casts_stand_only_where_they_change(
        mut graph in any_graph(),
        chosen in proptest::collection::vec(any::<bool>(), 64),
    ) {
        graph.input.push(typed("condition", 9));
        // An unused initializer stays unused.
        let used: HashSet<String> = graph.node.iter().flat_map(|node| node.input.clone()).collect();
        graph.initializer.retain(|tensor| used.contains(&tensor.name));
        let original = model(graph.clone());
        let (written, lowered) = lower(&original, |place| chosen[place % chosen.len()]);
        for output in check(&written, &HashMap::new()) {
            prop_assert_eq!(output, FLOAT);
        }
        let names = |graph: &GraphProto| graph.output.iter().map(|output| output.name.clone()).collect::<Vec<_>>();
        prop_assert_eq!(names(&written), names(&graph));
        prop_assert_eq!(&written.input, &graph.input);
        // Every operator that was chosen computes in the narrower type: its node has no other name.
        for operator in original.operators.iter().filter(|operator| lowered.contains(&operator.id)) {
            let node = written.node.iter().find(|node| node.name == operator.name).unwrap();
            let is_narrow = |name: &String| name.ends_with("/float16")
                || written.node.iter().any(|other| other.output.contains(name) && other.op_type != "Cast");
            prop_assert!(node.input.iter().all(is_narrow), "{:?}", node.input);
        }
    }
}

#[test]
fn a_weight_is_stored_once_in_each_type_in_which_it_is_taken_and_rounded_to_it() {
    let graph = GraphProto {
        name: "graph".to_owned(),
        input: vec![typed("x", FLOAT)],
        initializer: vec![weight("w")],
        node: vec![node("Add", &["x", "w"], "a"), node("Mul", &["a", "w"], "b"), node("Sub", &["b", "w"], "y")],
        output: vec![typed("y", FLOAT)],
        ..GraphProto::default()
    };
    let graph = model(graph);
    let types = |is_lowered: fn(usize) -> bool| -> Vec<i32> {
        lower(&graph, is_lowered).0.initializer.iter().map(|tensor| tensor.data_type).collect()
    };
    assert_eq!(types(|_| false), [FLOAT]);
    assert_eq!(types(|_| true), [FLOAT16]);
    assert_eq!(types(|place| place == 1), [FLOAT16, FLOAT]);
    let (written, _) = lower(&graph, |_| true);
    // By hand: 1, 2.5 and 65504 are numbers of fp16, and 1e-9 is less than half of its smallest.
    let halves: Vec<u16> =
        written.initializer[0].raw_data.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]])).collect();
    assert_eq!(halves, [0x3c00, 0x4100, 0x7bff, 0]);
}

#[test]
fn indices_sizes_and_counts_are_never_lowered() {
    let graph = GraphProto {
        name: "graph".to_owned(),
        input: vec![typed("x", FLOAT)],
        node: vec![
            node("Shape", &["x"], "shape"),
            cast("shape", "count", FLOAT),
            node("Sqrt", &["count"], "root"),
            node("Div", &["x", "root"], "y"),
        ],
        output: vec![typed("y", FLOAT)],
        ..GraphProto::default()
    };
    let graph = model(graph);
    let lowering = Lowering::new(&graph, DType::F16, &ValueTypes::infer(&graph, []));
    let names: Vec<&str> = lowering.candidates().map(|operator| operator.op_type.as_str()).collect();
    assert_eq!(names, ["Div"]);
}

#[test]
fn types_follow_from_operators_and_bodies_where_the_file_declares_none() {
    let untyped = |name: &str| ValueInfoProto { name: name.to_owned(), ..ValueInfoProto::default() };
    // A loop that counts in float32 and adds to a value; its body declares nothing.
    let body = GraphProto {
        name: "body".to_owned(),
        input: vec![untyped("iteration"), untyped("go on"), untyped("sum")],
        node: vec![
            node("Identity", &["go on"], "again"),
            cast("iteration", "count", FLOAT),
            node("Add", &["sum", "count"], "new sum"),
        ],
        output: vec![untyped("again"), untyped("new sum")],
        ..GraphProto::default()
    };
    let attribute = AttributeProto {
        name: "body".to_owned(),
        g: Some(body),
        r#type: attribute_type::GRAPH,
        ..AttributeProto::default()
    };
    let looped = NodeProto { attribute: vec![attribute], ..node("Loop", &["times", "condition", "x"], "summed") };
    let graph = GraphProto {
        name: "graph".to_owned(),
        input: vec![typed("x", FLOAT), typed("times", INT64), typed("condition", 9)],
        node: vec![
            looped,
            node("Greater", &["summed", "x"], "is greater"),
            node("Where", &["is greater", "summed", "x"], "chosen"),
            node("ArgMax", &["chosen"], "place"),
            node("Neg", &["place"], "negative place"),
            node("Neg", &["chosen"], "y"),
        ],
        output: vec![typed("y", FLOAT), typed("negative place", INT64)],
        ..GraphProto::default()
    };
    let graph = model(graph);
    let lowering = Lowering::new(&graph, DType::F16, &ValueTypes::infer(&graph, []));
    let names: Vec<&str> = lowering.candidates().map(|operator| operator.op_type.as_str()).collect();
    assert_eq!(names, ["Where", "Neg", "Add"], "and not the Neg of whole numbers, nor the Identity of a condition");
}
