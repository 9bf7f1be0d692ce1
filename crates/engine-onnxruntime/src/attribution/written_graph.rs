//! The graph that a session runs, as far as attribution needs it.

use std::collections::{HashMap, HashSet};

use opscope_onnx::{Graph, Producer, ValueId};
use prost::Message;

use crate::names;
use crate::proto::{ModelProto, NodeProto, TensorHead};

/// The nodes of the graph that a session runs, and what is known about their tensors. The nodes are in an order in
/// which they can run. The library nearly always uses this order, but may run independent nodes in another one.
pub(crate) struct WrittenGraph {
    pub nodes: Vec<Node>,
    /// The names of the nodes in bodies, whose events in a profile are skipped.
    pub inner_names: HashSet<String>,
    /// The tensors that are the same in every run: weights, and what was computed from them when the session was
    /// created.
    pub constants: HashSet<String>,
    /// The values of constants that are shapes, such as those of `Reshape`.
    pub shapes: HashMap<String, Vec<i64>>,
    /// The values of the file that are weights, by the library's names for them.
    weights: HashMap<String, ValueId>,
}

/// A node.
#[derive(Debug, Clone, Default)]
pub(crate) struct Node {
    pub name: String,
    pub op_type: String,
    pub domain: String,
    /// Empty for an omitted input.
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    /// The activation function that was fused into it.
    pub activation: Option<String>,
}

impl WrittenGraph {
    /// Reads the graph that the library has written. Its names are those of [`names`](crate::names).
    pub fn read(graph: &Graph, written: &ModelProto) -> Self {
        let proto = written.graph.clone().unwrap_or_default();
        let mut inner_names = HashSet::new();
        proto.node.iter().for_each(|node| collect_inner(node, &mut inner_names));
        let heads: Vec<TensorHead> =
            proto.initializer.iter().filter_map(|tensor| TensorHead::decode(tensor.clone()).ok()).collect();
        let shapes = proto.initializer.iter().zip(&heads).filter_map(|(tensor, head)| {
            let sizes = SmallTensor::decode(tensor.clone()).ok()?.sizes()?;
            Some((head.name.clone(), sizes))
        });
        let shapes = shapes.collect();
        let is_weight = |value: &&opscope_onnx::Value| value.producer == Producer::Initializer;
        let weights = graph.values.iter().filter(is_weight).map(|value| (names::of_weight(&value.name), value.id));
        Self {
            inner_names,
            constants: heads.into_iter().map(|head| head.name).collect(),
            shapes,
            weights: weights.collect(),
            nodes: proto.node.into_iter().map(Node::of).collect(),
        }
    }

    /// Returns the value of the file that a tensor is.
    pub fn value(&self, graph: &Graph, tensor: &str) -> Option<ValueId> {
        let named = names::value(tensor).filter(|value| names::of_value(*value) == tensor);
        named.filter(|value| value.index() < graph.values.len()).or_else(|| self.weights.get(tensor).copied())
    }
}

impl Node {
    fn of(node: NodeProto) -> Self {
        let activation = node.attribute.iter().find(|attribute| attribute.name == "activation");
        let activation = activation.and_then(|attribute| attribute.s.as_ref());
        Self {
            activation: activation.map(|text| String::from_utf8_lossy(text).into_owned()),
            name: node.name,
            op_type: node.op_type,
            domain: node.domain,
            inputs: node.input,
            outputs: node.output,
        }
    }

    /// Returns the outputs that are not omitted.
    pub fn given(&self) -> impl Iterator<Item = &String> {
        self.outputs.iter().filter(|name| !name.is_empty())
    }
}

fn collect_inner(node: &NodeProto, names: &mut HashSet<String>) {
    for body in node.attribute.iter().flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs)) {
        for inner in &body.node {
            names.insert(inner.name.clone());
            collect_inner(inner, names);
        }
    }
}

/// A tensor whose elements are read if it may be a shape.
#[derive(Clone, PartialEq, prost::Message)]
struct SmallTensor {
    #[prost(int64, repeated, tag = "1")]
    dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    data_type: i32,
    #[prost(int64, repeated, tag = "7")]
    int64_data: Vec<i64>,
    #[prost(bytes = "bytes", tag = "9")]
    raw_data: prost::bytes::Bytes,
}

impl SmallTensor {
    /// Returns the elements of a short list of whole numbers.
    fn sizes(self) -> Option<Vec<i64>> {
        const INT64: i32 = 7;
        let [count] = self.dims[..] else { return None };
        if self.data_type != INT64 || !(1..=8).contains(&count) {
            return None;
        }
        let raw = self.raw_data.as_chunks::<8>().0.iter().map(|&bytes| i64::from_le_bytes(bytes));
        let sizes: Vec<i64> = if self.int64_data.is_empty() { raw.collect() } else { self.int64_data };
        (sizes.len() as i64 == count).then_some(sizes)
    }
}
