//! Attributes of nodes, and the constants of a file: initializers, and the values of `Constant` nodes.

use std::collections::BTreeMap;

use opscope_tensor::{DType, Tensor};
use prost::Message;

use super::initializers::with_ids;
use crate::proto::{AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, attribute_type};
use crate::{Attribute, Graph, OnnxError, Operator, TensorInfo, ValueId};

impl Graph {
    /// Reads the constants of the file one by one, including those of bodies, and passes each to `visit`: initializers,
    /// and the values of `Constant` nodes. Strings are skipped, because they have no representation in bytes.
    ///
    /// # Errors
    /// Returns an error if external data cannot be read, or the first error of `visit`.
    pub fn constants<E: From<OnnxError>>(
        &self,
        wanted: impl Fn(ValueId) -> bool,
        mut visit: impl FnMut(ValueId, Tensor) -> Result<(), E>,
    ) -> Result<(), E> {
        let damaged = |reason: String| OnnxError::NotOnnx { path: self.source.path.clone(), reason };
        let model = ModelProto::decode(self.source.bytes.clone()).map_err(|error| damaged(error.to_string()))?;
        let proto = model.graph.unwrap_or_default();
        let mut found = Vec::new();
        self.each_graph(&proto, &mut |proto, operators, first| {
            found.extend(with_ids(proto, first).map(|(value, tensor)| (value, StoredConstant::Stored(tensor))));
            found.extend(operators.iter().filter_map(|operator| constant(operator, proto)));
        });
        for (value, tensor) in found.into_iter().filter(|(value, _)| wanted(*value)) {
            let tensor = match tensor {
                StoredConstant::Stored(proto) => {
                    match DType::from_onnx(proto.data_type).filter(|dtype| *dtype != DType::String) {
                        Some(dtype) => {
                            let shape = proto.dims.iter().map(|&dim| dim.max(0) as usize).collect();
                            Tensor::new(dtype, shape, self.bytes(proto, dtype)?)
                        }
                        None => continue,
                    }
                }
                StoredConstant::Numbers(attribute) => match numbers(attribute) {
                    Some(tensor) => tensor,
                    None => continue,
                },
            };
            visit(value, tensor.map_err(|error| damaged(error.to_string()))?)?;
        }
        Ok(())
    }
}

/// Returns the value of a `Constant` node.
fn constant<'p>(operator: &Operator, proto: &'p GraphProto) -> Option<(ValueId, StoredConstant<'p>)> {
    let value = (*operator.outputs.first()?).filter(|_| operator.is_constant())?;
    let attribute = proto.node.get(operator.position)?.attribute.first()?;
    Some((value, attribute.t.as_ref().map_or(StoredConstant::Numbers(attribute), StoredConstant::Stored)))
}

/// Where the file stores a constant.
enum StoredConstant<'p> {
    Stored(&'p TensorProto),
    /// In an attribute that is not a tensor.
    Numbers(&'p AttributeProto),
}

/// Returns the numbers of an attribute as a tensor, or `None` if it has none.
fn numbers(attribute: &AttributeProto) -> Option<Result<Tensor, opscope_tensor::TensorError>> {
    Some(match kind(attribute) {
        attribute_type::FLOAT => Tensor::from_f32(Vec::new(), &[attribute.f]),
        attribute_type::FLOATS => Tensor::from_f32(vec![attribute.floats.len()], &attribute.floats),
        attribute_type::INT => Tensor::from_i64(Vec::new(), &[attribute.i]),
        attribute_type::INTS => Tensor::from_i64(vec![attribute.ints.len()], &attribute.ints),
        _ => return None,
    })
}

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
