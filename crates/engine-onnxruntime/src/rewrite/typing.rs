//! A model whose only purpose is to infer the types of its values: its weights are inputs, and every value is an
//! output.

use opscope_onnx::{Graph, ValueId};
use prost::Message;

use super::values::is_constant;
use crate::names;
use crate::proto::{
    DimensionProto, ModelProto, TensorHead, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
};

/// Weights of at most this many bytes stay, because shapes may depend on their content.
const LARGEST_KEPT: usize = 4096;

/// Turns a model with the names of [`names`](crate::names) into one that only serves to infer types. Returns the values
/// that are its outputs.
pub(crate) fn typed(graph: &Graph, model: &mut ModelProto) -> Vec<ValueId> {
    let Some(proto) = &mut model.graph else { return Vec::new() };
    for tensor in std::mem::take(&mut proto.initializer) {
        let head = TensorHead::decode(tensor.clone()).unwrap_or_default();
        let is_external = head.data_location == 1;
        if tensor.len() <= LARGEST_KEPT && !is_external {
            proto.initializer.push(tensor);
            continue;
        }
        let dim = |&size: &i64| DimensionProto { dim_value: Some(size), dim_param: None };
        let shape = TensorShapeProto { dim: head.dims.iter().map(dim).collect() };
        let tensor_type = TensorTypeProto { elem_type: head.data_type, shape: Some(shape) };
        let described = TypeProto { tensor_type: Some(tensor_type) };
        proto.input.retain(|input| input.name != head.name);
        proto.input.push(ValueInfoProto { name: head.name, r#type: Some(described.encode_to_vec().into()) });
    }
    let computed = graph.values.iter().map(|value| value.id);
    let computed = computed.filter(|&value| {
        !is_constant(graph, value) && matches!(graph.value(value).producer, opscope_onnx::Producer::Operator(..))
    });
    let outputs: Vec<ValueId> = computed.collect();
    proto.output = outputs.iter().map(|&value| ValueInfoProto { name: names::of_value(value), r#type: None }).collect();
    outputs
}
