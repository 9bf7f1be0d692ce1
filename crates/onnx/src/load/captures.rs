//! The values that graphs inside operators take from the graphs around them.

use std::collections::{BTreeSet, HashSet};

use super::proto::{GraphProto, NodeProto};

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
