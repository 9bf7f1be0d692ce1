//! Shapes that a model computes: integers that follow from the shapes of its inputs.

use std::path::Path;

use opscope_onnx::{Graph, TensorInfo, ValueTypes};
use opscope_tensor::DType;
use prost::bytes::Bytes;

use crate::wire::{self, Message};

/// An operator that computes `s`, with attributes.
struct Step(&'static str, &'static [&'static str], &'static [(&'static str, i64)]);

/// Returns the integers that the last of these steps computes from the shape of `x`, [2, 3, 4], which is `s0`. Each
/// step computes the next `s`. `c` names constants.
fn computed(steps: &[Step], constants: &[(&str, &[i64])]) -> Option<Vec<usize>> {
    let mut nodes = vec![wire::node("shape", "Shape", &["x"], &["s0"])];
    for (number, Step(op_type, inputs, attributes)) in steps.iter().enumerate() {
        let node = wire::node(&format!("n{number}"), op_type, inputs, &[&format!("s{}", number + 1)]);
        nodes.push(attributes.iter().fold(node, |node, (name, value)| {
            node.message(5, Message::default().text(1, name).int(3, *value).int(20, 2))
        }));
    }
    let last = format!("s{}", steps.len());
    nodes.push(wire::node("filled", "ConstantOfShape", &[&last], &["y"]));
    let mut graph = wire::graph(&nodes, &["x"], &["y"]);
    for (name, values) in constants {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        graph =
            graph.message(5, Message::default().int(1, values.len() as i64).int(2, 7).text(8, name).bytes(9, &bytes));
    }
    let graph = Graph::from_bytes(Path::new("contents.onnx"), Bytes::from(wire::model(graph))).unwrap();
    let x = TensorInfo { dtype: Some(DType::F32), shape: vec![2, 3, 4] };
    let types = ValueTypes::infer(&graph, [(graph.inputs[0], x)]);
    let found = types.get(graph.outputs[0])?;
    assert_eq!(found.dtype, Some(DType::F32));
    Some(found.shape.clone())
}

/// Computes one step from the shape and a constant.
fn of(op_type: &'static str, constant: &[i64]) -> Option<Vec<usize>> {
    computed(&[Step(op_type, &["s0", "c"], &[])], &[("c", constant)])
}

#[test]
fn shapes_are_computed_from_shapes() {
    assert_eq!(computed(&[], &[]), Some(vec![2, 3, 4]));
    let shape = |attributes| computed(&[Step("Shape", &["x"], attributes)], &[]);
    assert_eq!(shape(&[("start", 1)]), Some(vec![3, 4]));
    assert_eq!(shape(&[("end", -1)]), Some(vec![2, 3]));
    assert_eq!(shape(&[("start", -2), ("end", 9)]), Some(vec![3, 4]));
    assert_eq!(shape(&[("start", 1), ("end", 2)]), Some(vec![3]));
    assert_eq!(shape(&[("start", 3)]), Some(vec![]));
    assert_eq!(of("Gather", &[2, 0, -1, -3]), Some(vec![4, 2, 4, 2]));
    assert_eq!(of("Gather", &[3]), None);
    assert_eq!(of("Gather", &[-4]), None);
    let concat = |inputs| computed(&[Step("Concat", inputs, &[("axis", 0)])], &[("c", &[7, 8])]);
    assert_eq!(concat(&["s0", "c"]), Some(vec![2, 3, 4, 7, 8]));
    assert_eq!(concat(&["c", "s0", "c"]), Some(vec![7, 8, 2, 3, 4, 7, 8]));
    let product = computed(&[Step("ReduceProd", &["s0"], &[("keepdims", 1)])], &[]);
    assert_eq!(product, Some(vec![24]));
}

#[test]
fn numbers_are_combined_one_by_one_or_with_a_single_one() {
    assert_eq!(of("Add", &[1, 2, 3]), Some(vec![3, 5, 7]));
    assert_eq!(of("Add", &[10]), Some(vec![12, 13, 14]));
    assert_eq!(of("Sub", &[1]), Some(vec![1, 2, 3]));
    assert_eq!(of("Mul", &[5, 1, 0]), Some(vec![10, 3, 0]));
    assert_eq!(of("Div", &[2]), Some(vec![1, 1, 2]));
    assert_eq!(of("Div", &[0]), None);
    assert_eq!(of("Min", &[3]), Some(vec![2, 3, 3]));
    assert_eq!(of("Max", &[3]), Some(vec![3, 3, 4]));
    let swapped = computed(&[Step("Sub", &["c", "s0"], &[])], &[("c", &[10])]);
    assert_eq!(swapped, Some(vec![8, 7, 6]));
    assert_eq!(of("Mul", &[i64::MAX]), None, "it overflows");
    assert_eq!(of("Sub", &[3]), None, "a size is not negative");
}

#[test]
fn parts_of_shapes_are_those_of_a_plain_slice() {
    let sliced = |start: i64, end: i64, steps: Option<i64>| {
        let inputs: &'static [&'static str] = match steps {
            Some(_) => &["s0", "start", "end", "axes", "steps"],
            None => &["s0", "start", "end"],
        };
        let constants: [(&str, &[i64]); 4] =
            [("start", &[start]), ("end", &[end]), ("axes", &[0]), ("steps", &[steps.unwrap_or(1)])];
        computed(&[Step("Slice", inputs, &[])], &constants)
    };
    assert_eq!(sliced(1, 3, None), Some(vec![3, 4]));
    assert_eq!(sliced(0, 1, None), Some(vec![2]));
    assert_eq!(sliced(-2, i64::MAX, None), Some(vec![3, 4]));
    assert_eq!(sliced(i64::MIN, -1, None), Some(vec![2, 3]));
    assert_eq!(sliced(-2, -1, Some(1)), Some(vec![3]));
    assert_eq!(sliced(0, 3, Some(2)), None);
    assert_eq!(sliced(0, 3, Some(-1)), None);
}

#[test]
fn what_keeps_the_elements_keeps_their_values() {
    let chain = [
        Step("Identity", &["s0"], &[]),
        Step("Cast", &["s1"], &[("to", 6)]),
        Step("Cast", &["s2"], &[("to", 7)]),
        Step("Unsqueeze", &["s3", "axis"], &[]),
        Step("Squeeze", &["s4", "axis"], &[]),
        Step("Reshape", &["s5", "all"], &[]),
    ];
    assert_eq!(computed(&chain, &[("axis", &[0]), ("all", &[-1])]), Some(vec![2, 3, 4]));
    assert_eq!(computed(&[Step("Cast", &["s0"], &[("to", 1)])], &[]), None, "floats are not followed");
    assert_eq!(computed(&[Step("Neg", &["s0"], &[])], &[]), None);
}

#[test]
fn lists_of_64_numbers_at_most_are_followed() {
    let ones = |count: usize| {
        let values = vec![1i64; count];
        computed(&[Step("Identity", &["c"], &[])], &[("c", &values)]).map(|shape| shape.len())
    };
    assert_eq!((ones(64), ones(65)), (Some(64), None));
    let joined = |count: usize| {
        let values = vec![1i64; count];
        computed(&[Step("Concat", &["s0", "c"], &[("axis", 0)])], &[("c", &values)]).map(|shape| shape.len())
    };
    assert_eq!((joined(61), joined(62)), (Some(64), None));
}

#[test]
fn a_type_that_an_engine_does_not_state_is_that_of_the_rules() {
    let graph = wire::graph(&[wire::node("n", "Relu", &["x"], &["y"])], &["x"], &["y"]);
    let graph = Graph::from_bytes(Path::new("typed.onnx"), Bytes::from(wire::model(graph))).unwrap();
    let info = |dtype| TensorInfo { dtype, shape: vec![2, 3] };
    let known = [(graph.inputs[0], info(Some(DType::F16))), (graph.outputs[0], info(None))];
    let types = ValueTypes::infer(&graph, known);
    assert_eq!(types.get(graph.outputs[0]), Some(&info(Some(DType::F16))));
}
