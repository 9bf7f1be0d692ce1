//! The branch that an `If` takes. If the inputs decide this before a run, the branch replaces the `If`.
//!
//! ONNX allows the two branches to return tensors of different ranks, as in voice models that take one window or many.
//! tract requires one rank. If the condition is known when a plan is made, the other branch is dropped, so that it does
//! not have to fit.

use std::collections::HashMap;

use tract_onnx::model::ParseResult;
use tract_onnx::ops::logic::If;
use tract_onnx::pb::{GraphProto, ModelProto, NodeProto};
use tract_onnx::prelude::{InferenceModel, TVec};
use tract_onnx::tract_core::internal::OutletId;
use tract_onnx::tract_hir::infer::Factoid;

/// Returns the branch that each `If` of the main graph takes, if its condition is known, by the node's position in the
/// file.
pub(crate) fn decided(proto: &ModelProto, parsed: &ParseResult) -> Vec<(usize, bool)> {
    let Some(main) = &proto.graph else { return Vec::new() };
    let decision = |(position, node): (usize, &NodeProto)| {
        let outlet = parsed.outlets_by_name.get(node.input.first().filter(|_| node.op_type == "If")?)?;
        Some((position, condition(&parsed.model, *outlet)?))
    };
    main.node.iter().enumerate().filter_map(decision).collect()
}

/// Returns the branch that one of tract's `If`s takes, if its condition is known.
pub(crate) fn decided_at(model: &InferenceModel, node: usize) -> Option<bool> {
    let node = model.node(node);
    condition(model, *node.inputs.first().filter(|_| node.op_is::<If>())?)
}

fn condition(model: &InferenceModel, outlet: OutletId) -> Option<bool> {
    let value = model.outlet_fact(outlet).ok()?.value.concretize()?;
    // tract would read a number even from an empty tensor.
    if value.len() == 1 { value.cast_to_scalar::<bool>().ok() } else { None }
}

/// Replaces the nodes by the branches that are taken.
pub(crate) fn inline(proto: &mut ModelProto, decided: &[(usize, bool)]) {
    let Some(main) = &mut proto.graph else { return };
    let mut nodes = Vec::with_capacity(main.node.len());
    for (position, node) in std::mem::take(&mut main.node).into_iter().enumerate() {
        match decided.iter().find(|(decided, _)| *decided == position) {
            Some((_, taken)) => {
                let Some(branch) = branch(&node, *taken) else { continue };
                let (inner, initializers) = unfolded(&node, branch.clone());
                nodes.extend(inner);
                main.initializer.extend(initializers);
            }
            None => nodes.push(node),
        }
    }
    main.node = nodes;
}

fn branch(node: &NodeProto, taken: bool) -> Option<&GraphProto> {
    let wanted = if taken { "then_branch" } else { "else_branch" };
    node.attribute.iter().find(|attribute| attribute.name == wanted)?.g.as_ref()
}

/// Returns the nodes and initializers of a branch, under names that nothing outside it has, and a node for each output.
fn unfolded(node: &NodeProto, mut branch: GraphProto) -> (Vec<NodeProto>, Vec<tract_onnx::pb::TensorProto>) {
    let own = branch.node.iter().flat_map(|inner| inner.output.iter());
    let own = own.chain(branch.initializer.iter().map(|tensor| &tensor.name)).filter(|name| !name.is_empty());
    let renamed: HashMap<String, String> = own.map(|name| (name.clone(), format!("{}/{name}", node.name))).collect();
    for tensor in &mut branch.initializer {
        rename(&mut tensor.name, &renamed);
    }
    for (position, inner) in branch.node.iter_mut().enumerate() {
        inner.name = match inner.name.as_str() {
            "" => format!("{}/{}_{position}", node.name, inner.op_type),
            name => format!("{}/{name}", node.name),
        };
        inner.output.iter_mut().for_each(|output| rename(output, &renamed));
        rename_inputs(inner, &renamed);
    }
    let results = branch.output.iter_mut().zip(&node.output).filter(|(_, output)| !output.is_empty());
    let results = results.enumerate().map(|(slot, (result, output))| {
        rename(&mut result.name, &renamed);
        NodeProto {
            name: format!("{}.output{slot}", node.name),
            op_type: "Identity".to_owned(),
            input: vec![result.name.clone()],
            output: vec![output.clone()],
            ..NodeProto::default()
        }
    });
    let results: TVec<NodeProto> = results.collect();
    branch.node.extend(results);
    (branch.node, branch.initializer)
}

/// Renames the inputs of a node, including those of its own graphs. ONNX forbids an inner graph to define a name that
/// an outer graph uses.
pub(crate) fn rename_inputs(node: &mut NodeProto, renamed: &HashMap<String, String>) {
    node.input.iter_mut().for_each(|input| rename(input, renamed));
    for inner in node.attribute.iter_mut().flat_map(|attribute| attribute.g.iter_mut().chain(&mut attribute.graphs)) {
        inner.node.iter_mut().for_each(|node| rename_inputs(node, renamed));
        inner.output.iter_mut().for_each(|output| rename(&mut output.name, renamed));
    }
}

/// Renames a value that has another name outside its graph.
pub(crate) fn rename(name: &mut String, renamed: &HashMap<String, String>) {
    if let Some(new) = renamed.get(name.as_str()) {
        name.clone_from(new);
    }
}
