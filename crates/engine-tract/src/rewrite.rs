//! The file's messages as tract takes them.

use opscope_onnx::Graph;
use tract_onnx::Onnx;
use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::pb::{
    AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, tensor_shape_proto, type_proto,
};
use tract_onnx::prelude::Framework;
use tract_onnx::tract_core::internal::TractResult;

use crate::names;

/// Every node of the main graph under the name that leads back to its operator, and what tract reads otherwise than ONNX
/// means it written out.
pub(crate) fn rewritten(graph: &Graph, framework: &Onnx) -> TractResult<ModelProto> {
    let mut proto = framework.proto_model_for_read(&mut &graph.source.bytes[..])?;
    let mut unnamed = 0;
    if let Some(main) = &mut proto.graph {
        for operator in &graph.operators {
            if let Some(node) = main.node.get_mut(operator.position) {
                node.name = names::encode(operator.id);
            }
        }
        write_out(main, &mut unnamed);
    }
    Ok(proto)
}

fn write_out(graph: &mut GraphProto, unnamed: &mut usize) {
    graph.input.iter_mut().for_each(forget_names_of_dimensions);
    for node in &mut graph.node {
        name_outputs(node, unnamed);
        give_default(node);
        for attribute in &mut node.attribute {
            for inner in attribute.g.iter_mut().chain(&mut attribute.graphs) {
                write_out(inner, unnamed);
            }
        }
    }
}

/// The inputs of a loop's body may declare dimensions by names; what they are is known from outside of the loop.
fn forget_names_of_dimensions(input: &mut ValueInfoProto) {
    let Some(type_proto::Value::TensorType(tensor)) = input.r#type.as_mut().and_then(|kind| kind.value.as_mut()) else {
        return;
    };
    for dim in tensor.shape.iter_mut().flat_map(|shape| &mut shape.dim) {
        if let Some(tensor_shape_proto::dimension::Value::DimParam(_)) = dim.value {
            dim.value = None;
        }
    }
}

/// tract counts only the outputs that have a name, so that one that is left out would move the next into its place.
fn name_outputs(node: &mut NodeProto, unnamed: &mut usize) {
    // How many parts there are is the number of outputs, whether they are used or not.
    let is_counted = node.op_type == "Split";
    while !is_counted && node.output.last().is_some_and(String::is_empty) {
        node.output.pop();
    }
    for output in node.output.iter_mut().filter(|output| output.is_empty()) {
        *output = names::unused(*unnamed);
        *unnamed += 1;
    }
}

/// Without a value ONNX means one zero of float32; tract takes float64.
fn give_default(node: &mut NodeProto) {
    if node.op_type == "ConstantOfShape" && node.attribute.iter().all(|attribute| attribute.name != "value") {
        let zero = TensorProto {
            dims: vec![1],
            data_type: DataType::Float as i32,
            float_data: vec![0.0],
            ..TensorProto::default()
        };
        node.attribute.push(AttributeProto {
            name: "value".to_owned(),
            r#type: AttributeType::Tensor as i32,
            t: Some(zero),
            ..AttributeProto::default()
        });
    }
}
