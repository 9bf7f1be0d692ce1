//! Attributes of nodes.

use std::collections::BTreeMap;

use opscope_tensor::DType;

use super::proto::{AttributeProto, NodeProto, attribute_type};
use crate::{Attribute, TensorInfo};

pub(crate) fn attributes(node: &NodeProto) -> BTreeMap<String, Attribute> {
    node.attribute.iter().map(|attribute| (attribute.name.clone(), value(attribute))).collect()
}

fn value(attribute: &AttributeProto) -> Attribute {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match (kind(attribute), &attribute.t, &attribute.g) {
        (attribute_type::FLOAT, ..) => Attribute::Float(attribute.f),
        (attribute_type::INT, ..) => Attribute::Int(attribute.i),
        (attribute_type::STRING, ..) => Attribute::String(text(&attribute.s)),
        (attribute_type::TENSOR, Some(tensor), _) => Attribute::Tensor(TensorInfo {
            dtype: DType::from_onnx(tensor.data_type),
            shape: tensor.dims.iter().map(|&dim| dim.max(0) as usize).collect(),
        }),
        (attribute_type::GRAPH, _, Some(graph)) => {
            Attribute::Graph { name: graph.name.clone(), operators: graph.node.len() }
        }
        (attribute_type::FLOATS, ..) => Attribute::Floats(attribute.floats.clone()),
        (attribute_type::INTS, ..) => Attribute::Ints(attribute.ints.clone()),
        (attribute_type::STRINGS, ..) => Attribute::Strings(attribute.strings.iter().map(|s| text(s)).collect()),
        _ => Attribute::Other,
    }
}

/// Returns the attribute's type. Files of the first ONNX versions omit it; then the field that is set decides.
pub(crate) fn kind(attribute: &AttributeProto) -> i32 {
    match attribute.r#type {
        0 if attribute.t.is_some() => attribute_type::TENSOR,
        0 if attribute.g.is_some() => attribute_type::GRAPH,
        0 if !attribute.ints.is_empty() => attribute_type::INTS,
        0 if !attribute.floats.is_empty() => attribute_type::FLOATS,
        0 if !attribute.strings.is_empty() => attribute_type::STRINGS,
        0 if !attribute.s.is_empty() => attribute_type::STRING,
        0 if attribute.f != 0.0 => attribute_type::FLOAT,
        0 => attribute_type::INT,
        given => given,
    }
}
