//! Shapes of values that operators move, select or repeat, by numpy's rules.

use std::path::Path;

use opscope_onnx::{Graph, TensorInfo, ValueTypes};
use opscope_tensor::DType;
use prost::bytes::Bytes;

use crate::wire::{self, Message};

/// `TensorProto` of 64-bit integers.
fn integers(name: &str, values: &[i64]) -> Message {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Message::default().int(1, values.len() as i64).int(2, 7).text(8, name).bytes(9, &bytes)
}

/// `ValueInfoProto` of a tensor of floats with fixed sizes.
fn shaped(name: &str, sizes: &[i64]) -> Message {
    let shape = sizes.iter().fold(Message::default(), |shape, size| shape.message(1, Message::default().int(1, *size)));
    let tensor = Message::default().int(1, 1).message(2, shape);
    Message::default().text(1, name).message(2, Message::default().message(1, tensor))
}

fn read(graph: Message) -> Graph {
    Graph::from_bytes(Path::new("shapes.onnx"), Bytes::from(wire::model(graph))).unwrap()
}

/// Returns the shape of an operator's output for `x` and constants.
fn shape(op_type: &str, x: &[usize], constants: &[&[i64]], attributes: &[(&str, i64)]) -> Option<Vec<usize>> {
    let names: Vec<String> = (0..constants.len()).map(|slot| format!("c{slot}")).collect();
    let inputs: Vec<&str> = ["x"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let node = attributes.iter().fold(wire::node("n", op_type, &inputs, &["y"]), |node, (name, value)| {
        node.message(5, Message::default().text(1, name).int(3, *value).int(20, 2))
    });
    let graph = names
        .iter()
        .zip(constants)
        .fold(wire::graph(&[node], &["x"], &["y"]), |graph, (name, values)| graph.message(5, integers(name, values)));
    let graph = read(graph);
    let known = TensorInfo { dtype: Some(DType::F32), shape: x.to_vec() };
    ValueTypes::infer(&graph, [(graph.inputs[0], known)]).get(graph.outputs[0]).map(|info| info.shape.clone())
}

#[test]
fn a_slice_is_as_long_as_in_python() {
    // len(range(10)[start:end:step])
    for (start, end, step, length) in [
        (0, 10, 1, 10),
        (2, 7, 1, 5),
        (-3, i64::MAX, 1, 3),
        (-100, 4, 1, 4),
        (7, 2, 1, 0),
        (0, 10, 3, 4),
        (1, 10, 3, 3),
        (2, -1, 4, 2),
        (9, 0, -1, 9),
        (100, 6, -1, 3),
        (-1, -5, -2, 2),
        (-1, -6, -2, 3),
        (5, i64::MIN, -1, 6),
        (5, i64::MIN, -2, 3),
        (2, 7, -1, 0),
        (3, 100, -1, 0),
    ] {
        let found = shape("Slice", &[4, 10], &[&[start], &[end], &[1], &[step]], &[]);
        assert_eq!(found, Some(vec![4, length]), "[{start}:{end}:{step}]");
    }
    assert_eq!(shape("Slice", &[4, 10], &[&[1, 2], &[3, -1]], &[]), Some(vec![2, 7]), "the first axes, one by one");
    assert_eq!(shape("Slice", &[4, 10], &[&[1], &[3], &[-1]], &[]), Some(vec![4, 2]));
    assert_eq!(shape("Slice", &[4, 10], &[&[1], &[3], &[0], &[0]], &[]), None, "no step is 0");
    assert_eq!(shape("Slice", &[4, 10], &[&[1], &[3], &[2]], &[]), None, "there is no such axis");
}

#[test]
fn repeated_and_padded_tensors_are_longer() {
    assert_eq!(shape("Tile", &[2, 3], &[&[4, 5]], &[]), Some(vec![8, 15]));
    assert_eq!(shape("Tile", &[2, 3], &[&[4]], &[]), None);
    assert_eq!(shape("Expand", &[3, 1], &[&[2, 1, 6]], &[]), Some(vec![2, 3, 6]));
    assert_eq!(shape("Expand", &[3, 1], &[&[2, 6]], &[]), None);
    assert_eq!(shape("Pad", &[2, 3], &[&[1, 2, 3, 4]], &[]), Some(vec![6, 9]));
    assert_eq!(shape("Pad", &[2, 3], &[&[0, -1, 0, -1]], &[]), Some(vec![2, 1]));
    assert_eq!(shape("Pad", &[2, 3], &[&[1, 2]], &[]), None);
}

#[test]
fn the_same_elements_have_another_shape() {
    assert_eq!(shape("Flatten", &[2, 3, 4, 5], &[], &[]), Some(vec![2, 60]));
    assert_eq!(shape("Flatten", &[2, 3, 4, 5], &[], &[("axis", -1)]), Some(vec![24, 5]));
    assert_eq!(shape("Flatten", &[2, 3, 4, 5], &[], &[("axis", 4)]), Some(vec![120, 1]));
    assert_eq!(shape("Flatten", &[2, 3, 4, 5], &[], &[("axis", 0)]), Some(vec![1, 120]));
    assert_eq!(shape("Reshape", &[2, 3, 4], &[&[0, -1]], &[]), Some(vec![2, 12]));
    assert_eq!(shape("Reshape", &[2, 3, 4], &[&[4, 6]], &[]), Some(vec![4, 6]));
    assert_eq!(shape("Reshape", &[2, 3, 4], &[&[4, 5]], &[]), None);
    assert_eq!(shape("Squeeze", &[1, 3, 1, 2], &[&[2]], &[]), Some(vec![1, 3, 2]));
    assert_eq!(shape("Squeeze", &[1, 3, 1, 2], &[], &[]), Some(vec![3, 2]));
    assert_eq!(shape("Unsqueeze", &[3, 2], &[&[0, -1]], &[]), Some(vec![1, 3, 2, 1]));
    let blocks = [("blocksize", 2)];
    assert_eq!(shape("DepthToSpace", &[1, 12, 5, 7], &[], &blocks), Some(vec![1, 3, 10, 14]));
    assert_eq!(shape("SpaceToDepth", &[1, 3, 10, 14], &[], &blocks), Some(vec![1, 12, 5, 7]));
    assert_eq!(shape("SpaceToDepth", &[1, 3, 10, 14], &[], &[("blocksize", 0)]), None);
}

#[test]
fn axes_are_reduced_to_one_or_to_none() {
    assert_eq!(shape("ReduceSum", &[2, 3, 4], &[&[1]], &[]), Some(vec![2, 1, 4]));
    assert_eq!(shape("ReduceSum", &[2, 3, 4], &[&[-1, 0]], &[("keepdims", 0)]), Some(vec![3]));
    assert_eq!(shape("ReduceMax", &[2, 3, 4], &[], &[]), Some(vec![1, 1, 1]));
    assert_eq!(shape("ReduceSum", &[2, 3, 4], &[&[]], &[("noop_with_empty_axes", 1)]), Some(vec![2, 3, 4]));
    assert_eq!(shape("ReduceSum", &[2, 3, 4], &[&[]], &[("noop_with_empty_axes", 0)]), Some(vec![1, 1, 1]));
    assert_eq!(shape("ArgMax", &[2, 3, 4], &[], &[("axis", 1)]), Some(vec![2, 1, 4]));
    assert_eq!(shape("ArgMin", &[2, 3, 4], &[], &[("keepdims", 0)]), Some(vec![3, 4]));
}

#[test]
fn elements_are_gathered_in_the_shape_of_their_indices() {
    assert_eq!(shape("Gather", &[5, 6, 7], &[&[0, 3]], &[("axis", 1)]), Some(vec![5, 2, 7]));
    assert_eq!(shape("Gather", &[5, 6, 7], &[&[0, 3, 1]], &[("axis", -1)]), Some(vec![5, 6, 3]));
    assert_eq!(shape("GatherND", &[5, 6, 7], &[&[0, 3]], &[]), Some(vec![7]));
    assert_eq!(shape("GatherElements", &[5], &[&[0, 3, 1]], &[]), Some(vec![3]));
    assert_eq!(shape("Transpose", &[5, 6, 7], &[], &[]), Some(vec![7, 6, 5]));
    assert_eq!(shape("Concat", &[4], &[&[0, 3], &[7]], &[("axis", 0)]), Some(vec![7]));
}

#[test]
fn a_filled_tensor_is_of_the_type_of_its_value() {
    let filled = |value: Option<i64>| {
        let node = wire::node("n", "ConstantOfShape", &["sizes"], &["y"]);
        let node = match value {
            Some(dtype) => {
                let tensor = Message::default().int(1, 1).int(2, dtype).bytes(9, &[0; 8]);
                node.message(5, Message::default().text(1, "value").message(5, tensor).int(20, 4))
            }
            None => node,
        };
        let graph = read(wire::graph(&[node], &[], &["y"]).message(5, integers("sizes", &[2, 5])));
        ValueTypes::infer(&graph, []).get(graph.outputs[0]).cloned()
    };
    let of = |dtype| Some(TensorInfo { dtype: Some(dtype), shape: vec![2, 5] });
    assert_eq!((filled(None), filled(Some(7)), filled(Some(11))), (of(DType::F32), of(DType::I64), of(DType::F64)));
}

#[test]
fn what_the_file_states_counts_only_for_inputs_of_the_stated_shapes() {
    let node = wire::node("n", "Unknown", &["x", "w"], &["y"]);
    let graph = Message::default()
        .message(1, node)
        .message(11, shaped("x", &[2, 3]))
        .message(12, shaped("y", &[2, 8]))
        .message(5, integers("w", &[1, 2, 3, 4]));
    let graph = read(graph);
    let weights = graph.all_values().find(|value| value.name == "w").unwrap().id;
    let types = |shape: Vec<usize>| {
        let types = ValueTypes::infer(&graph, [(graph.inputs[0], TensorInfo { dtype: Some(DType::F32), shape })]);
        [graph.outputs[0], weights].map(|value| types.get(value).map(|info| info.shape.clone()))
    };
    assert_eq!(types(vec![2, 3]), [Some(vec![2, 8]), Some(vec![4])]);
    assert_eq!(types(vec![7, 3]), [None, Some(vec![4])], "an initializer has its shape whatever the inputs have");
    assert_eq!(types(vec![2, 3, 1]), [None, Some(vec![4])]);
}
