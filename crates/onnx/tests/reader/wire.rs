//! Writes the messages of ONNX field by field, so that the reader is not tested against its own definitions. Field
//! numbers: `onnx.proto` of ONNX.

use prost::encoding::{WireType, encode_key, encode_varint};

/// A message that is being built.
#[derive(Clone, Default)]
pub struct Message(pub Vec<u8>);

impl Message {
    pub fn int(mut self, field: u32, value: i64) -> Self {
        encode_key(field, WireType::Varint, &mut self.0);
        encode_varint(value as u64, &mut self.0);
        self
    }

    pub fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        encode_key(field, WireType::LengthDelimited, &mut self.0);
        encode_varint(bytes.len() as u64, &mut self.0);
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn text(self, field: u32, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    pub fn message(self, field: u32, message: Message) -> Self {
        self.bytes(field, &message.0)
    }

    pub fn float(mut self, field: u32, value: f32) -> Self {
        encode_key(field, WireType::ThirtyTwoBit, &mut self.0);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
}

/// `NodeProto`.
pub fn node(name: &str, op_type: &str, inputs: &[&str], outputs: &[&str]) -> Message {
    let with_inputs = inputs.iter().fold(Message::default(), |message, input| message.text(1, input));
    outputs.iter().fold(with_inputs, |message, output| message.text(2, output)).text(3, name).text(4, op_type)
}

/// `ValueInfoProto` of a float tensor.
pub fn value(name: &str) -> Message {
    let tensor = Message::default().int(1, 1);
    Message::default().text(1, name).message(2, Message::default().message(1, tensor))
}

/// `GraphProto` of nodes, with inputs and outputs by name.
pub fn graph(nodes: &[Message], inputs: &[&str], outputs: &[&str]) -> Message {
    let graph = nodes.iter().fold(Message::default(), |graph, node| graph.message(1, node.clone()));
    let graph = inputs.iter().fold(graph, |graph, input| graph.message(11, value(input)));
    outputs.iter().fold(graph, |graph, output| graph.message(12, value(output)))
}

/// `ModelProto`.
pub fn model(graph: Message) -> Vec<u8> {
    Message::default().int(1, 8).message(7, graph).message(8, Message::default().int(2, 17)).0
}

/// Returns an `AttributeProto` of a graph.
pub fn subgraph(name: &str, graph: Message) -> Message {
    Message::default().text(1, name).message(6, graph).int(20, 5)
}
