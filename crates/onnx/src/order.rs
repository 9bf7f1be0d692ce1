//! The order of execution.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::names::captured;
use crate::proto::NodeProto;

/// The positions of the nodes in an order in which each comes after what it needs. It is the file's own order wherever
/// that will do. Values that no node makes are taken to be there.
pub(crate) fn execution_order(nodes: &[NodeProto]) -> Result<Vec<usize>, Cycle> {
    let mut maker = HashMap::new();
    for (position, node) in nodes.iter().enumerate() {
        for output in node.output.iter().filter(|output| !output.is_empty()) {
            maker.insert(output.as_str(), position);
        }
    }
    let mut needs = vec![0usize; nodes.len()];
    let mut feeds = vec![Vec::new(); nodes.len()];
    for (position, node) in nodes.iter().enumerate() {
        for value in node.input.iter().map(String::as_str).chain(captured(node)) {
            if let Some(&from) = maker.get(value) {
                needs[position] += 1;
                feeds[from].push(position);
            }
        }
    }
    let mut ready: BinaryHeap<_> = (0..nodes.len()).filter(|&node| needs[node] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(Reverse(position)) = ready.pop() {
        order.push(position);
        for &next in &feeds[position] {
            needs[next] -= 1;
            if needs[next] == 0 {
                ready.push(Reverse(next));
            }
        }
    }
    if order.len() == nodes.len() {
        return Ok(order);
    }
    let stuck = (0..nodes.len()).filter(|&node| needs[node] > 0);
    Err(Cycle { nodes: stuck.map(|node| nodes[node].name.clone()).collect() })
}

/// Nodes that wait for each other.
#[derive(Debug, thiserror::Error)]
#[error("the nodes {} wait for each other's outputs in a cycle", some(.nodes))]
pub(crate) struct Cycle {
    nodes: Vec<String>,
}

fn some(nodes: &[String]) -> String {
    let shown: Vec<_> = nodes.iter().take(4).map(|node| format!("'{node}'")).collect();
    let rest = if nodes.len() > shown.len() { ", ..." } else { "" };
    format!("{}{rest}", shown.join(", "))
}
