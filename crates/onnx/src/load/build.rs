//! Builds a checked [`Graph`] from the messages of a file.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use opscope_tensor::DType;

use super::attribute::attributes;
use super::external;
use super::names;
use super::order::execution_order;
use super::proto::{DATA_IS_EXTERNAL, GraphProto, NodeProto, TensorProto, TensorTypeProto, ValueInfoProto, dimension};
use crate::{Dim, Graph, OnnxError, Operator, OperatorId, Producer, Source, Value, ValueId};

/// Builds the graph and checks it.
pub(crate) fn build(source: Source, opsets: BTreeMap<String, i64>, proto: GraphProto) -> Result<Graph, OnnxError> {
    let path = source.path.clone();
    let invalid = |reason: String| OnnxError::Invalid { path: path.clone(), reason };
    let mut values = Values::default();

    let initialized: BTreeSet<&str> = proto.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    let mut inputs = Vec::new();
    for input in &proto.input {
        if input.name.is_empty() {
            return Err(invalid("an input has no name".to_owned()));
        }
        let info = tensor_type(input).ok_or_else(|| invalid(format!("input '{}' is not a tensor", input.name)))?;
        if !initialized.contains(input.name.as_str()) {
            inputs.push(values.add(&input.name, Producer::Input).map_err(&invalid)?);
            values.describe(&input.name, info);
        }
    }
    for tensor in &proto.initializer {
        check_data(&source, tensor)?;
        let id = values.add(&tensor.name, Producer::Initializer).map_err(&invalid)?;
        values.all[id.index()].dtype = DType::from_onnx(tensor.data_type);
        values.all[id.index()].shape = Some(tensor.dims.iter().map(|&dim| Dim::Fixed(dim.max(0) as usize)).collect());
    }
    if let Some(sparse) = proto.sparse_initializer.first() {
        let name = sparse.values.as_ref().map(|values| values.name.as_str()).unwrap_or_default();
        return Err(invalid(format!("tensor '{name}' is sparse, which is not supported; make it dense")));
    }

    check_inner_data(&source, &proto.node)?;

    let unique = names::unique(&proto.node);
    let order = execution_order(&proto.node).map_err(|cycle| invalid(cycle.describe(&unique)))?;
    let mut place = vec![OperatorId::new(0); proto.node.len()];
    for (index, &position) in order.iter().enumerate() {
        place[position] = OperatorId::new(index as u32);
    }
    for &position in &order {
        for (slot, name) in proto.node[position].output.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            values.add(name, Producer::Operator(place[position], slot)).map_err(&invalid)?;
        }
    }
    for info in proto.value_info.iter().chain(&proto.output) {
        if let Some(tensor) = tensor_type(info) {
            values.describe(&info.name, tensor);
        }
    }

    let mut operators = Vec::with_capacity(order.len());
    for &position in &order {
        let node = &proto.node[position];
        let operator = operator(node, position, place[position], &unique[position], &values).map_err(&invalid)?;
        for &value in operator.inputs.iter().flatten().chain(&operator.captures) {
            values.all[value.index()].consumers.push(operator.id);
        }
        operators.push(operator);
    }
    let outputs = proto.output.iter().map(|output| {
        values.find(&output.name).ok_or_else(|| invalid(format!("nothing computes the output '{}'", output.name)))
    });
    let outputs = outputs.collect::<Result<Vec<_>, _>>()?;
    if outputs.is_empty() {
        return Err(invalid("the graph has no outputs".to_owned()));
    }
    Ok(Graph { source, name: proto.name, operators, values: values.all, inputs, outputs, opsets })
}

/// The values that were added so far, with an index by name.
#[derive(Default)]
struct Values {
    all: Vec<Value>,
    by_name: HashMap<String, ValueId>,
}

impl Values {
    fn add(&mut self, name: &str, producer: Producer) -> Result<ValueId, String> {
        let id = ValueId::new(self.all.len() as u32);
        if self.by_name.insert(name.to_owned(), id).is_some() {
            return Err(format!("the value '{name}' has two producers; every value needs exactly one"));
        }
        let value = Value { id, name: name.to_owned(), producer, consumers: Vec::new(), dtype: None, shape: None };
        self.all.push(value);
        Ok(id)
    }

    fn find(&self, name: &str) -> Option<ValueId> {
        self.by_name.get(name).copied()
    }

    /// Stores the type and shape that the file gives for a value. Does nothing for a name that no value has.
    fn describe(&mut self, name: &str, info: &TensorTypeProto) {
        if let Some(id) = self.find(name) {
            let value = &mut self.all[id.index()];
            value.dtype = value.dtype.or(DType::from_onnx(info.elem_type));
            let shape = info.shape.as_ref().map(|shape| {
                shape.dim.iter().map(|dim| match &dim.value {
                    Some(dimension::Value::Number(number)) if *number >= 0 => Dim::Fixed(*number as usize),
                    // Some exporters write a question mark for every open size.
                    Some(dimension::Value::Symbol(name)) if name != "?" => Dim::Symbol(name.clone()),
                    _ => Dim::Symbol(String::new()),
                })
            });
            value.shape = value.shape.take().or(shape.map(Iterator::collect));
        }
    }
}

fn tensor_type(info: &ValueInfoProto) -> Option<&TensorTypeProto> {
    info.r#type.as_ref()?.tensor_type.as_ref()
}

fn operator(
    node: &NodeProto,
    position: usize,
    id: OperatorId,
    name: &str,
    values: &Values,
) -> Result<Operator, String> {
    let find = |input: &str| {
        values.find(input).ok_or_else(|| format!("node '{name}' takes the value '{input}', which nothing computes"))
    };
    let slot = |value: &String| if value.is_empty() { Ok(None) } else { find(value).map(Some) };
    Ok(Operator {
        id,
        name: name.to_owned(),
        op_type: node.op_type.clone(),
        domain: onnx_domain(node.domain.clone()),
        inputs: node.input.iter().map(slot).collect::<Result<_, _>>()?,
        outputs: node.output.iter().map(slot).collect::<Result<_, _>>()?,
        captures: names::captured(node).into_iter().map(find).collect::<Result<_, _>>()?,
        attributes: attributes(node),
        position,
    })
}

/// Checks the tensors in attributes and in nested graphs, at any depth.
fn check_inner_data(source: &Source, nodes: &[NodeProto]) -> Result<(), OnnxError> {
    for attribute in nodes.iter().flat_map(|node| &node.attribute) {
        for tensor in attribute.t.iter().chain(&attribute.tensors) {
            check_data(source, tensor)?;
        }
        for graph in attribute.g.iter().chain(&attribute.graphs) {
            for tensor in &graph.initializer {
                check_data(source, tensor)?;
            }
            check_inner_data(source, &graph.node)?;
        }
    }
    Ok(())
}

/// Checks that a tensor has as many bytes as its shape needs, in the file or beside it. This must come before anything
/// of that size is allocated.
fn check_data(source: &Source, tensor: &TensorProto) -> Result<(), OnnxError> {
    let invalid = |reason: String| OnnxError::Invalid { path: source.path.clone(), reason };
    let name = &tensor.name;
    let dtype = DType::from_onnx(tensor.data_type)
        .ok_or_else(|| invalid(format!("tensor '{name}' has the unknown element type {}", tensor.data_type)))?;
    let elements = tensor.dims.iter().try_fold(1usize, |all, &dim| all.checked_mul(usize::try_from(dim).ok()?));
    let elements = elements.filter(|&elements| elements <= isize::MAX as usize / 16);
    let elements =
        elements.ok_or_else(|| invalid(format!("tensor '{name}' has the impossible shape {:?}", tensor.dims)))?;
    let Some(needed) = dtype.bytes_of(elements) else {
        return if tensor.string_data.len() == elements {
            Ok(())
        } else {
            Err(invalid(format!("tensor '{name}' needs {elements} strings and has {}", tensor.string_data.len())))
        };
    };
    if tensor.data_location == DATA_IS_EXTERNAL {
        return external::locate(&source.path, tensor, needed as u64)
            .map(drop)
            .map_err(|reason| OnnxError::ExternalData { path: source.path.clone(), tensor: name.clone(), reason });
    }
    let found = match tensor.raw_data.len() {
        0 => typed_bytes(tensor, dtype),
        raw => raw,
    };
    if found == needed {
        Ok(())
    } else {
        Err(invalid(format!("tensor '{name}', {dtype} {:?}, needs {needed} bytes and has {found}", tensor.dims)))
    }
}

/// Returns the number of bytes that a tensor's typed fields decode to.
fn typed_bytes(tensor: &TensorProto, dtype: DType) -> usize {
    let (count, per_field) = match dtype {
        DType::F32 => (tensor.float_data.len(), 1),
        DType::Complex64 => (tensor.float_data.len(), 2),
        DType::F64 => (tensor.double_data.len(), 1),
        DType::Complex128 => (tensor.double_data.len(), 2),
        DType::I64 => (tensor.int64_data.len(), 1),
        DType::U32 | DType::U64 => (tensor.uint64_data.len(), 1),
        DType::I4 | DType::U4 | DType::F4E2M1 => return tensor.int32_data.len(),
        _ => (tensor.int32_data.len(), 1),
    };
    dtype.bytes_of(count / per_field).unwrap_or(0)
}

/// `ai.onnx` is another way to write the empty domain.
pub(crate) fn onnx_domain(domain: String) -> String {
    if domain == "ai.onnx" { String::new() } else { domain }
}
