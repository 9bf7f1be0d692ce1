//! The order in which ONNX Runtime executes nodes in sequence.
//!
//! It goes backwards from the nodes whose outputs no node takes, beginning with the last one in the file. It executes a
//! node once all nodes that it depends on are executed; among these, the last one in the file comes first.

use std::collections::HashMap;

use opscope_onnx::OperatorId;

use crate::names;
use crate::proto::{GraphProto, NodeProto};

/// Returns the operators of a graph in order of execution.
pub(super) fn of_execution(graph: &GraphProto) -> Vec<OperatorId> {
    let mut producer: HashMap<&str, usize> = HashMap::new();
    for (index, node) in graph.node.iter().enumerate() {
        // The library turns these into initializers.
        if node.op_type == "Constant" && node.domain.is_empty() {
            continue;
        }
        producer.extend(node.output.iter().map(|output| (output.as_str(), index)));
    }
    let waits_for = |node: &NodeProto| {
        let mut taken = Vec::new();
        names_taken(node, &mut |name| taken.extend(producer.get(name)));
        taken.sort_unstable();
        taken.dedup();
        taken
    };
    let waits: Vec<Vec<usize>> = graph.node.iter().map(waits_for).collect();
    let mut is_taken = vec![false; graph.node.len()];
    waits.iter().flatten().for_each(|&index| is_taken[index] = true);

    enum Step {
        Enter(usize),
        Execute(usize),
    }
    let mut seen = vec![false; graph.node.len()];
    let mut stack: Vec<Step> = (0..graph.node.len()).filter(|&index| !is_taken[index]).map(Step::Enter).collect();
    let mut order = Vec::new();
    while let Some(step) = stack.pop() {
        match step {
            Step::Execute(index) => order.extend(names::operator(&graph.node[index].name)),
            Step::Enter(index) if !std::mem::replace(&mut seen[index], true) => {
                stack.push(Step::Execute(index));
                stack.extend(waits[index].iter().filter(|&&before| !seen[before]).map(|&before| Step::Enter(before)));
            }
            Step::Enter(_) => {}
        }
    }
    order
}

/// Calls `take` with every name that a node takes, including the nodes of its bodies.
fn names_taken<'a>(node: &'a NodeProto, take: &mut impl FnMut(&'a str)) {
    node.input.iter().for_each(|name| take(name));
    let bodies = node.attribute.iter().flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs));
    for body in bodies {
        body.node.iter().for_each(|node| names_taken(node, take));
        body.output.iter().for_each(|output| take(&output.name));
    }
}
