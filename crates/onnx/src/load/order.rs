//! The order of execution, and the values that graphs inside operators take from the graphs around them.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet};

use crate::proto::{GraphProto, NodeProto};

/// Returns the positions of the nodes in an order in which each node comes after those that it depends on. It is the
/// file's own order if that is valid. A value that no node computes counts as available. `captures` has an entry for
/// each node.
///
/// # Errors
/// Returns the nodes of a cycle, if there is one.
pub(crate) fn execution_order(nodes: &[NodeProto], captures: &[Captures<'_>]) -> Result<Vec<usize>, Cycle> {
    let mut maker = HashMap::new();
    for (position, node) in nodes.iter().enumerate() {
        for output in node.output.iter().filter(|output| !output.is_empty()) {
            maker.insert(output.as_str(), position);
        }
    }
    let mut needs = vec![0usize; nodes.len()];
    let mut feeds = vec![Vec::new(); nodes.len()];
    for (position, node) in nodes.iter().enumerate() {
        for value in node.input.iter().map(String::as_str).chain(captures[position].names.iter().copied()) {
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
    // A node that only waits for a cycle is also stuck, but not part of it: its outputs lead to no node of a cycle.
    let mut stuck: Vec<bool> = needs.iter().map(|&needs| needs > 0).collect();
    let mut fed_by = vec![Vec::new(); nodes.len()];
    let mut waiting = vec![0usize; nodes.len()];
    for (from, &to) in feeds.iter().enumerate().flat_map(|(from, fed)| fed.iter().map(move |to| (from, to))) {
        if stuck[from] && stuck[to] {
            fed_by[to].push(from);
            waiting[from] += 1;
        }
    }
    let mut idle: Vec<usize> = (0..nodes.len()).filter(|&node| stuck[node] && waiting[node] == 0).collect();
    while let Some(position) = idle.pop() {
        stuck[position] = false;
        for &from in &fed_by[position] {
            waiting[from] -= 1;
            if waiting[from] == 0 {
                idle.push(from);
            }
        }
    }
    Err(Cycle { positions: (0..nodes.len()).filter(|&node| stuck[node]).collect() })
}

/// The positions of nodes that wait for each other.
#[derive(Debug, PartialEq)]
pub(crate) struct Cycle {
    positions: Vec<usize>,
}

impl Cycle {
    /// Returns a sentence about the cycle, with the nodes' names.
    pub(crate) fn describe(&self, names: &[String]) -> String {
        if let [position] = self.positions[..] {
            return format!("the node '{}' takes its own output", names[position]);
        }
        let shown: Vec<_> = self.positions.iter().take(4).map(|&position| format!("'{}'", names[position])).collect();
        let rest = if self.positions.len() > shown.len() { ", ..." } else { "" };
        format!("the nodes {}{rest} wait for each other's outputs in a cycle", shown.join(", "))
    }
}

/// What the graphs inside a node take from outside it.
#[derive(Debug)]
pub(crate) struct Captures<'a> {
    /// The names of the values, in alphabetical order.
    pub(crate) names: Vec<&'a str>,
    /// The captures of the nodes of each graph inside the node, in the order of [`NodeProto::graphs`].
    pub(crate) inner: Vec<Vec<Captures<'a>>>,
}

impl<'a> Captures<'a> {
    /// Returns what each of these nodes captures.
    pub(crate) fn of(nodes: &'a [NodeProto]) -> Vec<Self> {
        nodes.iter().map(Self::of_node).collect()
    }

    fn of_node(node: &'a NodeProto) -> Self {
        let mut names = BTreeSet::new();
        let inner = node.graphs().map(|(_, graph)| {
            let inner = Self::of(&graph.node);
            names.extend(outer_values(graph, &inner));
            inner
        });
        let inner = inner.collect();
        Self { names: names.into_iter().collect(), inner }
    }
}

/// Returns the values that a graph uses but does not define.
fn outer_values<'a>(graph: &'a GraphProto, captures: &[Captures<'a>]) -> BTreeSet<&'a str> {
    let mut known: HashSet<&str> = graph.input.iter().map(|input| input.name.as_str()).collect();
    known.extend(graph.initializer.iter().map(|tensor| tensor.name.as_str()));
    known.extend(graph.node.iter().flat_map(|node| node.output.iter().map(String::as_str)));
    let taken = graph.node.iter().flat_map(|node| node.input.iter().map(String::as_str));
    let captured = captures.iter().flat_map(|captures| captures.names.iter().copied());
    let given = graph.output.iter().map(|output| output.name.as_str());
    taken.chain(captured).chain(given).filter(|name| !name.is_empty() && !known.contains(name)).collect()
}
