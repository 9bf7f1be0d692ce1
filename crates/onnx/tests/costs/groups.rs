//! The cost of a group of operators that one kernel executes.

use std::path::Path;

use opscope_onnx::{CostGraph, Graph, GroupCost, TensorInfo, ValueTypes};
use opscope_tensor::DType;
use prost::bytes::Bytes;

use crate::wire;

/// `x` has 10 floats: `a` and `b` double and negate it, `c` adds both, `d` reshapes the sum, and `e` is its root. `y`
/// and `z` are the outputs of the model.
fn cost(operators: &[&str]) -> GroupCost {
    let nodes = [
        wire::node("a", "Add", &["x", "x"], &["a"]),
        wire::node("b", "Neg", &["x"], &["b"]),
        wire::node("c", "Add", &["a", "b"], &["c"]),
        wire::node("d", "Identity", &["c"], &["y"]),
        wire::node("e", "Sqrt", &["c"], &["z"]),
        wire::node("f", "Unknown", &["c"], &["w"]),
    ];
    let bytes = wire::model(wire::graph(&nodes, &["x"], &["y", "z", "w"]));
    let graph = Graph::from_bytes(Path::new("group.onnx"), Bytes::from(bytes)).unwrap();
    let known = TensorInfo { dtype: Some(DType::F32), shape: vec![10] };
    let types = ValueTypes::infer(&graph, [(graph.inputs[0], known)]);
    let ids: Vec<_> = operators.iter().map(|name| graph.operator_named(name).unwrap().id).collect();
    CostGraph::new(&graph, &types).cost(&ids)
}

#[test]
fn a_group_reads_what_comes_from_outside_once_and_writes_what_leaves_it() {
    let of = |operators: &[&str]| {
        let cost = cost(operators);
        (cost.flops.unwrap(), cost.bytes_read.unwrap(), cost.bytes_written.unwrap())
    };
    assert_eq!(of(&["a"]), (10, 40, 40), "an input that is taken twice is read once");
    assert_eq!(of(&["a", "b"]), (20, 40, 80));
    assert_eq!(of(&["c"]), (10, 80, 40));
    assert_eq!(of(&["a", "c"]), (20, 80, 40));
    assert_eq!(of(&["a", "b", "c"]), (30, 40, 40));
    assert_eq!(of(&["d"]), (0, 0, 0), "a view is neither read nor written");
    assert_eq!(of(&["c", "d", "e"]), (20, 80, 80), "the view's output is that of the sum");
    assert_eq!(of(&["e"]), (10, 40, 40));
    assert_eq!(of(&["a", "b", "c", "d", "e"]), (40, 40, 80));
    assert_eq!(of(&[]), (0, 0, 0));
    let unknown = cost(&["c", "f"]);
    assert_eq!(
        (unknown.flops, unknown.bytes_read, unknown.bytes_written, unknown.dtype),
        (None, Some(80), None, Some(DType::F32))
    );
}
