//! Renames every node and every value.

use std::collections::HashMap;

use opscope_onnx::{Body, Graph, Operator, ValueId};
use prost::Message;

use crate::errors::Refusal;
use crate::names;
use crate::proto::{GraphProto, ModelProto, NodeProto, TensorHead};

/// Returns the model of a file with the names of [`names`](crate::names), its nodes in order of execution. Weights keep
/// their names and bytes.
///
/// # Errors
/// Returns an error if the graph was not read from this file.
pub(crate) fn named(graph: &Graph) -> Result<ModelProto, Refusal> {
    let mut model = ModelProto::decode(graph.source.bytes.clone()).map_err(|error| error.to_string())?;
    let proto = model.graph.as_mut().ok_or("there is no graph in the file")?;
    let main = GraphPart { inputs: &graph.inputs, operators: &graph.operators };
    rename(graph, proto, &main, None)?;
    Ok(model)
}

/// The main graph, or a body.
struct GraphPart<'a> {
    inputs: &'a [ValueId],
    operators: &'a [Operator],
}

/// The new names of the values of a graph, by those in the file.
struct Scope<'a> {
    names: HashMap<String, String>,
    outer: Option<&'a Scope<'a>>,
}

impl Scope<'_> {
    fn find(&self, name: &str) -> Option<&String> {
        self.names.get(name).or_else(|| self.outer.and_then(|outer| outer.find(name)))
    }

    fn rename(&self, name: &mut String) {
        if let Some(new) = self.find(name) {
            new.clone_into(name);
        }
    }
}

fn rename(
    graph: &Graph,
    proto: &mut GraphProto,
    part: &GraphPart<'_>,
    outer: Option<&Scope<'_>>,
) -> Result<(), Refusal> {
    let mut scope = Scope { names: HashMap::new(), outer };
    for tensor in &mut proto.initializer {
        let head = TensorHead::decode(tensor.clone()).map_err(|error| error.to_string())?;
        let name = names::of_weight(&head.name);
        if name != head.name {
            // If a field occurs twice, the last one counts.
            let renamed = TensorHead { name: name.clone(), ..TensorHead::default() };
            *tensor = [&tensor[..], &renamed.encode_to_vec()].concat().into();
        }
        scope.names.insert(head.name, name);
    }
    let inputs = proto.input.iter_mut().filter(|input| !scope.names.contains_key(&input.name));
    let inputs: Vec<_> = inputs.collect();
    if inputs.len() != part.inputs.len() || proto.node.len() != part.operators.len() {
        return Err("the file has changed since it was read".into());
    }
    for (input, &id) in inputs.into_iter().zip(part.inputs) {
        scope.names.insert(std::mem::replace(&mut input.name, names::of_value(id)), names::of_value(id));
    }
    for input in &mut proto.input {
        scope.rename(&mut input.name);
    }
    let mut by_position: Vec<Option<NodeProto>> = std::mem::take(&mut proto.node).into_iter().map(Some).collect();
    let mut nodes = Vec::with_capacity(by_position.len());
    for operator in part.operators {
        let node = by_position.get_mut(operator.position).and_then(Option::take);
        let mut node = node.ok_or("the file has changed since it was read")?;
        node.name = names::of_operator(operator.id);
        for (output, id) in node.output.iter_mut().zip(&operator.outputs) {
            if let Some(id) = id {
                scope.names.insert(std::mem::replace(output, names::of_value(*id)), names::of_value(*id));
            }
        }
        nodes.push(node);
    }
    for (node, operator) in nodes.iter_mut().zip(part.operators) {
        node.input.iter_mut().filter(|name| !name.is_empty()).for_each(|name| scope.rename(name));
        let attributes = node.attribute.iter_mut();
        let bodies = attributes.flat_map(|attribute| attribute.g.iter_mut().chain(&mut attribute.graphs));
        for (proto, body) in bodies.zip(graph.bodies_of(operator.id)) {
            let Body { inputs, .. } = body;
            rename(graph, proto, &GraphPart { inputs, operators: graph.operators_of(body) }, Some(&scope))?;
        }
    }
    proto.node = nodes;
    proto.output.iter_mut().for_each(|output| scope.rename(&mut output.name));
    proto.value_info.retain_mut(|info| match scope.names.get(&info.name) {
        Some(name) => {
            name.clone_into(&mut info.name);
            true
        }
        None => false,
    });
    Ok(())
}
