//! Names of nodes, and of the outer values that nested graphs use.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::proto::{GraphProto, NodeProto};

/// Returns a unique name for every node: its own, or `OpType_position` if it has none. A name that is taken gets the
/// suffix `_2`, `_3`, ...
pub(crate) fn unique(nodes: &[NodeProto]) -> Vec<String> {
    let mut taken = HashSet::new();
    // The number of copies of each name, so that the search for the next suffix starts there.
    let mut copies: HashMap<String, usize> = HashMap::new();
    // A node's own name takes precedence over one that is generated.
    let own: HashSet<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    nodes
        .iter()
        .enumerate()
        .map(|(position, node)| {
            let (base, is_own) = match node.name.as_str() {
                "" => (format!("{}_{position}", node.op_type), false),
                name => (name.to_owned(), true),
            };
            let mut name = base.clone();
            let mut may_be_own = is_own;
            while taken.contains(&name) || (!may_be_own && own.contains(name.as_str())) {
                let copy = copies.entry(base.clone()).or_insert(1);
                *copy += 1;
                name = format!("{base}_{copy}");
                may_be_own = false;
            }
            taken.insert(name.clone());
            name
        })
        .collect()
}

/// Returns the values of the outer graph that the graphs inside a node use, at any depth.
pub(crate) fn captured(node: &NodeProto) -> Vec<&str> {
    let mut found = BTreeSet::new();
    for attribute in &node.attribute {
        for graph in attribute.g.iter().chain(&attribute.graphs) {
            capture(graph, &mut Vec::new(), &mut found);
        }
    }
    found.into_iter().collect()
}

fn capture<'a>(graph: &'a GraphProto, scopes: &mut Vec<HashSet<&'a str>>, found: &mut BTreeSet<&'a str>) {
    let mut known: HashSet<&str> = graph.input.iter().map(|input| input.name.as_str()).collect();
    known.extend(graph.initializer.iter().map(|tensor| tensor.name.as_str()));
    known.extend(graph.node.iter().flat_map(|node| node.output.iter().map(String::as_str)));
    scopes.push(known);
    let used = graph.node.iter().flat_map(|node| node.input.iter().map(String::as_str));
    for name in used.chain(graph.output.iter().map(|output| output.name.as_str())) {
        if !name.is_empty() && !scopes.iter().any(|scope| scope.contains(name)) {
            found.insert(name);
        }
    }
    for attribute in graph.node.iter().flat_map(|node| &node.attribute) {
        for inner in attribute.g.iter().chain(&attribute.graphs) {
            capture(inner, scopes, found);
        }
    }
    scopes.pop();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes_of_one_name(count: usize) -> Vec<NodeProto> {
        vec![NodeProto { name: "same".to_owned(), ..NodeProto::default() }; count]
    }

    #[test]
    fn nodes_of_one_name_are_numbered_around_names_that_others_have() {
        let mut nodes = nodes_of_one_name(4);
        nodes.push(NodeProto { name: "same_3".to_owned(), ..NodeProto::default() });
        assert_eq!(unique(&nodes), ["same", "same_2", "same_4", "same_5", "same_3"]);
    }

    /// A search from the first suffix for every node would take half an hour.
    #[test]
    fn the_time_for_nodes_of_one_name_grows_with_their_number_and_not_its_square() {
        let names = unique(&nodes_of_one_name(200_000));
        assert_eq!(names.last().map(String::as_str), Some("same_200000"));
    }
}
