//! Small models, each built for one test.

use std::path::Path;
use std::sync::Arc;

use opscope_onnx::Graph;
use prost::Message;
use prost::bytes::Bytes;
use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::pb::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TensorShapeProto, TypeProto,
    ValueInfoProto, tensor_shape_proto, type_proto,
};

/// A graph that is being built.
#[derive(Default, Clone)]
pub struct Builder(GraphProto);

/// A dimension of an input.
#[derive(Clone, Copy)]
pub enum D {
    N(i64),
    S(&'static str),
}

pub fn attribute(name: &str) -> AttributeProto {
    AttributeProto { name: name.to_owned(), ..AttributeProto::default() }
}

pub fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { r#type: AttributeType::Int as i32, i: value, ..attribute(name) }
}

pub fn tensor(name: &str, value: TensorProto) -> AttributeProto {
    AttributeProto { r#type: AttributeType::Tensor as i32, t: Some(value), ..attribute(name) }
}

pub fn subgraph(name: &str, graph: Builder) -> AttributeProto {
    AttributeProto { r#type: AttributeType::Graph as i32, g: Some(graph.0), ..attribute(name) }
}

pub fn ints(name: &str, shape: &[i64], values: &[i64]) -> TensorProto {
    let data_type = DataType::Int64 as i32;
    TensorProto {
        name: name.to_owned(),
        dims: shape.to_vec(),
        data_type,
        int64_data: values.to_vec(),
        ..Default::default()
    }
}

pub fn floats(name: &str, shape: &[i64], values: &[f32]) -> TensorProto {
    let data_type = DataType::Float as i32;
    TensorProto {
        name: name.to_owned(),
        dims: shape.to_vec(),
        data_type,
        float_data: values.to_vec(),
        ..Default::default()
    }
}

impl Builder {
    pub fn input(mut self, name: &str, dtype: DataType, shape: &[D]) -> Self {
        use tensor_shape_proto::{Dimension, dimension::Value};
        let dims = shape.iter().map(|dim| Dimension {
            denotation: String::new(),
            value: Some(match *dim {
                D::N(number) => Value::DimValue(number),
                D::S(symbol) => Value::DimParam(symbol.to_owned()),
            }),
        });
        let shape = Some(TensorShapeProto { dim: dims.collect() });
        let tensor = type_proto::Tensor { elem_type: dtype as i32, shape };
        let r#type = TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..Default::default() };
        self.0.input.push(ValueInfoProto { name: name.to_owned(), r#type: Some(r#type), ..Default::default() });
        self
    }

    pub fn output(mut self, name: &str) -> Self {
        self.0.output.push(ValueInfoProto { name: name.to_owned(), ..Default::default() });
        self
    }

    pub fn initializer(mut self, tensor: TensorProto) -> Self {
        self.0.initializer.push(tensor);
        self
    }

    pub fn node(self, name: &str, op_type: &str, inputs: &[&str], outputs: &[&str]) -> Self {
        self.node_with(name, op_type, inputs, outputs, vec![])
    }

    pub fn node_with(
        mut self,
        name: &str,
        op_type: &str,
        inputs: &[&str],
        outputs: &[&str],
        attribute: Vec<AttributeProto>,
    ) -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let (domain, op_type) = op_type.rsplit_once("::").unwrap_or(("", op_type));
        self.0.node.push(NodeProto {
            name: name.to_owned(),
            op_type: op_type.to_owned(),
            domain: domain.to_owned(),
            input: owned(inputs),
            output: owned(outputs),
            attribute,
            ..Default::default()
        });
        self
    }

    /// Returns the file's bytes.
    pub fn bytes(self) -> Vec<u8> {
        let opset = OperatorSetIdProto { domain: String::new(), version: 17 };
        let graph = GraphProto { name: "test".to_owned(), ..self.0 };
        ModelProto { ir_version: 8, opset_import: vec![opset], graph: Some(graph), ..Default::default() }
            .encode_to_vec()
    }

    /// Returns the graph as if it had been read from a file without external data.
    pub fn graph(self) -> Arc<Graph> {
        let bytes = Bytes::from(self.bytes());
        Arc::new(Graph::from_bytes(Path::new("made.onnx"), bytes).unwrap())
    }
}

/// Returns the axes of a `Transpose`.
pub fn perm(axes: &[i64]) -> AttributeProto {
    AttributeProto { r#type: AttributeType::Ints as i32, ints: axes.to_vec(), ..attribute("perm") }
}
