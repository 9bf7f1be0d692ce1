//! Other names: `n0` for nodes, `v0` for values.

use std::collections::{HashMap, HashSet};

use opscope_onnx::proto::{AttributeProto, GraphProto, ModelProto, NodeProto, TypeProto};

use crate::reduce::case::Case;

/// Renames nodes, values, graphs and dimensions, and removes every text about the model: its producer, domain and
/// descriptions.
pub fn rename(case: &mut Case) {
    let mut names = Names::default();
    let proto = &mut case.proto;
    proto.producer_name.clear();
    proto.producer_version.clear();
    proto.domain = Default::default();
    proto.doc_string = Default::default();
    proto.model_version = 0;
    proto.metadata_props.clear();
    proto.training_info.clear();
    proto.configuration.clear();
    if let Some(graph) = &mut proto.graph {
        names.graph(graph);
    }
    for (name, _) in &mut case.inputs {
        names.value(name);
    }
}

/// The new names.
#[derive(Default)]
struct Names {
    values: HashMap<String, String>,
    nodes: usize,
    graphs: usize,
}

impl Names {
    /// Replaces the name of a value, by the same one wherever it stands.
    fn value(&mut self, name: &mut String) {
        if !name.is_empty() {
            let next = format!("v{}", self.values.len());
            *name = self.values.entry(std::mem::take(name)).or_insert(next).clone();
        }
    }

    /// A value inside a graph that has the name of one outside gets the same new name, so nothing changes for it.
    fn graph(&mut self, graph: &mut GraphProto) {
        graph.name = format!("g{}", self.graphs);
        self.graphs += 1;
        graph.doc_string = Default::default();
        graph.quantization_annotation.clear();
        graph.metadata_props.clear();
        graph.value_info.retain(|value| value.r#type.is_some());
        for value in graph.input.iter_mut().chain(&mut graph.output).chain(&mut graph.value_info) {
            self.value(&mut value.name);
            value.doc_string = Default::default();
            value.metadata_props.clear();
            if let Some(of_value) = &mut value.r#type {
                without_symbols(of_value);
            }
        }
        let sparse = graph.sparse_initializer.iter_mut().filter_map(|sparse| sparse.values.as_mut());
        for tensor in graph.initializer.iter_mut().chain(sparse) {
            self.value(&mut tensor.name);
            tensor.doc_string = Default::default();
            tensor.metadata_props.clear();
        }
        for node in &mut graph.node {
            self.node(node);
        }
    }

    fn node(&mut self, node: &mut NodeProto) {
        node.name = format!("n{}", self.nodes);
        self.nodes += 1;
        node.doc_string = Default::default();
        node.metadata.clear();
        node.device_configurations.clear();
        for name in node.input.iter_mut().chain(&mut node.output) {
            self.value(name);
        }
        for attribute in &mut node.attribute {
            attribute.doc_string = Default::default();
            for tensor in attribute.t.iter_mut().chain(&mut attribute.tensors) {
                tensor.name.clear();
                tensor.doc_string = Default::default();
                tensor.metadata_props.clear();
            }
            attribute.g.iter_mut().chain(&mut attribute.graphs).for_each(|graph| self.graph(graph));
        }
    }
}

/// Leaves dimensions open that have a name.
fn without_symbols(of_value: &mut TypeProto) {
    use opscope_onnx::proto::dimension::Value;
    of_value.denotation = Default::default();
    let shape = of_value.tensor_type.as_mut().and_then(|tensor| tensor.shape.as_mut());
    for dimension in shape.into_iter().flat_map(|shape| &mut shape.dim) {
        dimension.denotation = Default::default();
        if matches!(dimension.value, Some(Value::Symbol(_))) {
            dimension.value = None;
        }
    }
}

/// The bytes that a piece of a name has in common with a text, so that the name counts as still there.
const PIECE: usize = 8;

/// Returns what of the original's names is still in a model: types of operators, attributes and texts that are not
/// ONNX's own.
pub fn left(model: &ModelProto, original: &ModelProto) -> Vec<(String, String)> {
    let mut pieces = HashSet::new();
    each_name(original, &mut |name| {
        if name.len() >= PIECE {
            pieces.extend(name.windows(PIECE).map(<[u8]>::to_vec));
        }
    });
    let holds = |text: &[u8]| text.len() >= PIECE && text.windows(PIECE).any(|piece| pieces.contains(piece));
    let mut left = Vec::new();
    let functions = model.functions.iter().filter(|function| holds(function));
    left.extend(functions.map(|_| ("function".to_owned(), "a function of the model, with its names".to_owned())));
    if let Some(graph) = &model.graph {
        left_in(graph, &holds, &mut left);
    }
    left
}

fn left_in(graph: &GraphProto, holds: &dyn Fn(&[u8]) -> bool, left: &mut Vec<(String, String)>) {
    for node in &graph.node {
        if !is_of_onnx(&node.domain) {
            for (what, text) in [("domain", &node.domain), ("type", &node.op_type)] {
                if text.len() >= PIECE {
                    left.push((
                        node.name.clone(),
                        format!("the {what} of the operator, '{text}', which the failure needs"),
                    ));
                }
            }
        }
        for AttributeProto { name, s, strings, g, graphs, .. } in &node.attribute {
            if !is_of_onnx(&node.domain) && name.len() >= PIECE {
                left.push((node.name.clone(), format!("the attribute '{name}'")));
            }
            if [s].into_iter().chain(strings).any(|text| holds(text)) {
                left.push((node.name.clone(), format!("the text of the attribute '{name}'")));
            }
            g.iter().chain(graphs).for_each(|graph| left_in(graph, holds, left));
        }
    }
}

/// Returns whether a domain is one that everybody has.
fn is_of_onnx(domain: &str) -> bool {
    matches!(domain, "" | "ai.onnx" | "ai.onnx.ml" | "ai.onnx.training" | "ai.onnx.preview.training" | "com.microsoft")
}

/// Calls `visit` with every name and every text about a model.
fn each_name(model: &ModelProto, visit: &mut dyn FnMut(&[u8])) {
    visit(model.producer_name.as_bytes());
    visit(model.producer_version.as_bytes());
    visit(&model.domain);
    visit(&model.doc_string);
    for entry in &model.metadata_props {
        visit(&entry.key);
        visit(&entry.value);
    }
    if let Some(graph) = &model.graph {
        each_name_in(graph, visit);
    }
}

fn each_name_in(graph: &GraphProto, visit: &mut dyn FnMut(&[u8])) {
    visit(graph.name.as_bytes());
    visit(&graph.doc_string);
    for value in graph.input.iter().chain(&graph.output).chain(&graph.value_info) {
        visit(value.name.as_bytes());
        visit(&value.doc_string);
    }
    graph.initializer.iter().for_each(|tensor| visit(tensor.name.as_bytes()));
    for node in &graph.node {
        visit(node.name.as_bytes());
        visit(&node.doc_string);
        node.input.iter().chain(&node.output).for_each(|name| visit(name.as_bytes()));
        node.metadata.iter().for_each(|entry| visit(&entry.value));
        for attribute in &node.attribute {
            attribute.g.iter().chain(&attribute.graphs).for_each(|graph| each_name_in(graph, visit));
        }
    }
}
