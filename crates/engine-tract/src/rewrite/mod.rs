//! The file's messages in the form that tract reads.

pub(crate) mod branches;
pub(crate) mod decompositions;
pub(crate) mod loops;

use std::collections::HashSet;

use opscope_onnx::Graph;
use opscope_tensor::DType;
use tract_onnx::Onnx;
use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::pb::{
    AttributeProto, GraphProto, ModelProto, NodeProto, StringStringEntryProto, TensorProto, ValueInfoProto,
    tensor_shape_proto, type_proto,
};
use tract_onnx::prelude::Framework;
use tract_onnx::tract_core::internal::{TractErrorContext, TractResult};

use crate::names;

/// Returns every node of the main graph under the name that leads back to its operator. Rewrites what tract interprets
/// differently from ONNX, and decomposes operators that it lacks.
pub(crate) fn rewritten(graph: &Graph, framework: &Onnx) -> TractResult<ModelProto> {
    let mut proto = framework.proto_model_for_read(&mut &graph.source.bytes[..])?;
    let is_own = |domain: &str| matches!(domain, "" | "ai.onnx");
    let opset = proto.opset_import.iter().find(|opset| is_own(&opset.domain)).map_or(0, |opset| opset.version);
    if let Some(main) = &mut proto.graph {
        for operator in &graph.operators {
            if let Some(node) = main.node.get_mut(operator.position) {
                node.name = names::encode(operator.id);
            }
        }
        let mut nodes = Vec::with_capacity(main.node.len());
        for node in std::mem::take(&mut main.node) {
            match decompositions::decompose(&node, opset).with_context(|| format!("Building node {}", node.name))? {
                Some(several) => nodes.extend(several),
                None => nodes.push(node),
            }
        }
        main.node = nodes;
        Writer { opset, unnamed: 0 }.write_out(main);
    }
    Ok(proto)
}

/// Rewrites what tract interprets differently from ONNX.
struct Writer {
    opset: i64,
    /// How many outputs without a name have received one.
    unnamed: usize,
}

impl Writer {
    fn write_out(&mut self, graph: &mut GraphProto) {
        graph.input.iter_mut().for_each(forget_names_of_dimensions);
        graph.initializer.iter_mut().for_each(give_length);
        for node in &mut graph.node {
            self.name_outputs(node);
            give_default(node);
            for attribute in &mut node.attribute {
                attribute.t.iter_mut().chain(&mut attribute.tensors).for_each(give_length);
                for inner in attribute.g.iter_mut().chain(&mut attribute.graphs) {
                    self.write_out_body(inner);
                }
            }
        }
    }

    fn write_out_body(&mut self, body: &mut GraphProto) {
        name_nodes(body);
        let decomposed = std::mem::take(&mut body.node).into_iter().flat_map(|node| {
            // An operator that cannot be decomposed is refused once it is known that the body is needed.
            match decompositions::decompose(&node, self.opset) {
                Ok(Some(nodes)) => nodes,
                Ok(None) | Err(_) => vec![node],
            }
        });
        body.node = decomposed.collect();
        self.write_out(body);
    }

    /// tract counts only the outputs with a name, so an omitted one would shift the next into its place.
    fn name_outputs(&mut self, node: &mut NodeProto) {
        // The number of parts is the number of outputs, whether they are used or not.
        let is_counted = node.op_type == "Split";
        while !is_counted && node.output.last().is_some_and(String::is_empty) {
            node.output.pop();
        }
        for output in node.output.iter_mut().filter(|output| output.is_empty()) {
            *output = names::unused(self.unnamed);
            self.unnamed += 1;
        }
    }
}

/// Gives every node of a body a name that neither another node of the body nor a value that enters the body has,
/// because tract derives names from both.
fn name_nodes(body: &mut GraphProto) {
    let mut taken = HashSet::new();
    taken.extend(body.input.iter().map(|input| input.name.clone()));
    taken.extend(body.initializer.iter().map(|tensor| tensor.name.clone()));
    let made: HashSet<&str> = body.node.iter().flat_map(|node| &node.output).map(String::as_str).collect();
    let mut captured = HashSet::new();
    collect_inputs(body, &mut captured);
    taken.extend(captured.into_iter().filter(|name| !made.contains(name.as_str())));
    for (position, node) in body.node.iter_mut().enumerate() {
        let wanted = match node.name.as_str() {
            "" => format!("{}_{position}", node.op_type),
            name => name.to_owned(),
        };
        let mut name = wanted.clone();
        let mut number = 1;
        while !taken.insert(name.clone()) {
            number += 1;
            name = format!("{wanted}#{number}");
        }
        node.name = name;
    }
}

/// Collects the names of all values that the nodes of a graph take, including those of inner graphs.
fn collect_inputs(graph: &GraphProto, names: &mut HashSet<String>) {
    for node in &graph.node {
        names.extend(node.input.iter().cloned());
        for attribute in &node.attribute {
            attribute.g.iter().chain(&attribute.graphs).for_each(|inner| collect_inputs(inner, names));
        }
    }
    names.extend(graph.output.iter().map(|output| output.name.clone()));
}

/// The inputs of a loop's body may name their dimensions, but the sizes are known from outside the loop.
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

/// External data without a length is as long as its shape needs; tract would read to the end of the file.
fn give_length(tensor: &mut TensorProto) {
    let elements = tensor.dims.iter().try_fold(1usize, |all, dim| all.checked_mul(usize::try_from(*dim).ok()?));
    let bytes = DType::from_onnx(tensor.data_type).zip(elements).and_then(|(dtype, elements)| dtype.bytes_of(elements));
    tensor.external_data.retain(|entry| !entry.value.is_empty());
    if tensor.external_data.iter().all(|entry| entry.key != "length")
        && !tensor.external_data.is_empty()
        && let Some(bytes) = bytes
    {
        let entry = StringStringEntryProto { key: "length".to_owned(), value: bytes.to_string() };
        tensor.external_data.push(entry);
    }
}

/// The default value is one zero of float32 in ONNX; tract uses float64.
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
