//! Makes a model smaller that has as few operators as it can have: metadata, attributes, optional inputs, dimensions,
//! data.

mod dimensions;
mod numbers;

use std::collections::{HashMap, HashSet};

use opscope_onnx::proto::{GraphProto, NodeProto};

use super::case::{Case, described, is_constant};
use super::check::Checker;

/// Returns the smallest model that was found to fail in the same way.
pub fn shrink(case: Case, checker: &mut Checker<'_>) -> Case {
    let mut smallest = case;
    let mut embedded = smallest.clone();
    embedded.prune();
    if embedded.embed().is_ok() && checker.fails(&embedded) {
        smallest = embedded;
    }
    checker.enter("removing metadata and attributes");
    for strip in [without_metadata, without_descriptions] {
        try_change(&mut smallest, checker, strip);
    }
    remove_attributes(&mut smallest, checker);
    remove_optional(&mut smallest, checker);
    checker.enter("making dimensions smaller");
    dimensions::shrink(&mut smallest, checker);
    // Smaller tensors may need fewer attributes.
    remove_attributes(&mut smallest, checker);
    checker.enter("making data simpler");
    numbers::simplify(&mut smallest, checker);
    smallest
}

/// Changes a model, and keeps the change if it still fails. Returns whether the change was kept.
pub(super) fn try_change(case: &mut Case, checker: &mut Checker<'_>, change: impl FnOnce(&mut Case)) -> bool {
    let mut changed = case.clone();
    change(&mut changed);
    changed.prune();
    let is_new = changed.proto != case.proto || changed.inputs != case.inputs;
    let is_kept = is_new && checker.fails(&changed);
    if is_kept {
        *case = changed;
    }
    is_kept
}

/// Removes what an engine needs for no computation.
fn without_metadata(case: &mut Case) {
    let used: HashSet<String> = domains(case.main()).into_iter().map(str::to_owned).collect();
    let proto = &mut case.proto;
    proto.metadata_props.clear();
    proto.training_info.clear();
    proto.functions.clear();
    proto.configuration.clear();
    proto.opset_import.retain(|set| used.contains(onnx(&set.domain)) || onnx(&set.domain).is_empty());
    without_descriptions(case);
}

fn without_descriptions(case: &mut Case) {
    case.proto.doc_string = Default::default();
    let main = case.main_mut();
    main.metadata_props.clear();
    main.quantization_annotation.clear();
    describe_nothing(main);
}

fn describe_nothing(graph: &mut GraphProto) {
    graph.doc_string = Default::default();
    for value in graph.input.iter_mut().chain(&mut graph.output).chain(&mut graph.value_info) {
        value.doc_string = Default::default();
        value.metadata_props.clear();
    }
    for tensor in &mut graph.initializer {
        tensor.doc_string = Default::default();
        tensor.metadata_props.clear();
    }
    for node in &mut graph.node {
        node.doc_string = Default::default();
        node.metadata.clear();
        node.device_configurations.clear();
        for attribute in &mut node.attribute {
            attribute.doc_string = Default::default();
            attribute.g.iter_mut().chain(&mut attribute.graphs).for_each(describe_nothing);
        }
    }
}

/// Returns the domains of the operators of a graph and of those inside them.
fn domains(graph: &GraphProto) -> HashSet<&str> {
    let inner = graph.node.iter().flat_map(|node| &node.attribute);
    let inner = inner.flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs)).flat_map(domains);
    graph.node.iter().map(|node| onnx(&node.domain)).chain(inner).collect()
}

/// Returns a domain; ONNX's own is the empty string in both of its spellings.
fn onnx(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}

/// Removes attributes, whose defaults apply then.
fn remove_attributes(case: &mut Case, checker: &mut Checker<'_>) {
    for at in 0..case.main().node.len() {
        if is_constant(&case.main().node[at]) {
            continue;
        }
        for attribute in (0..case.main().node[at].attribute.len()).rev() {
            try_change(case, checker, |case| {
                case.main_mut().node[at].attribute.remove(attribute);
            });
        }
    }
}

/// Removes inputs and outputs of operators that they do not need.
fn remove_optional(case: &mut Case, checker: &mut Checker<'_>) {
    for at in 0..case.main().node.len() {
        for slot in (1..case.main().node[at].input.len()).rev() {
            try_change(case, checker, |case| {
                let node = &mut case.main_mut().node[at];
                node.input[slot].clear();
                trim(node);
            });
        }
        if case.main().node[at].output.len() > 1 {
            remove_outputs(case, checker, at);
        }
    }
}

/// Removes outputs that no other operator takes. One output stays.
fn remove_outputs(case: &mut Case, checker: &mut Checker<'_>, at: usize) {
    for slot in (1..case.main().node[at].output.len()).rev() {
        try_change(case, checker, |case| {
            let main = case.main_mut();
            let name = std::mem::take(&mut main.node[at].output[slot]);
            main.output.retain(|output| output.name != name);
            while main.node[at].output.last().is_some_and(String::is_empty) {
                main.node[at].output.pop();
            }
        });
    }
}

fn trim(node: &mut NodeProto) {
    while node.input.last().is_some_and(String::is_empty) {
        node.input.pop();
    }
}

/// Returns a model whose outputs have declared shapes, as checkers of models demand, if it still fails then.
pub fn with_declared_outputs(mut case: Case, checker: &mut Checker<'_>) -> Case {
    let Ok(graph) = case.graph() else { return case };
    let types = crate::reduce::cut::output_types(&graph, &case.tensors(&graph));
    let known: HashMap<&str, _> = types.iter().map(|(name, info)| (name.as_str(), info)).collect();
    try_change(&mut case, checker, |case| {
        for output in &mut case.main_mut().output {
            if let Some((dtype, shape)) = known.get(output.name.as_str()) {
                *output = described(&output.name, *dtype, Some(shape));
            }
        }
    });
    case
}
