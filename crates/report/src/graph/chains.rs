//! Divides modules with too many members into groups of consecutive members, cut where few values pass.

use std::collections::BTreeMap;

use super::model::{ModelGraph, NodeKind};
use super::tree::{MOST_MEMBERS, Member, Module, places};

/// About how many members a group has at least.
const LEAST: usize = 12;
/// About how many groups a level has.
const GROUPS: usize = 20;

/// Returns a module whose levels, at any depth, have at most [`MOST_MEMBERS`] members.
pub(super) fn divided(mut module: Module, graph: &ModelGraph) -> Module {
    let inner = |member| match member {
        Member::Module(module) => Member::Module(divided(module, graph)),
        node => node,
    };
    module.members = module.members.into_iter().map(inner).collect();
    while module.members.len() > MOST_MEMBERS {
        module.members = grouped(module.members, graph);
    }
    module
}

/// How many inputs and outputs of the model stay outside groups.
const MOST_ENDS: usize = 8;

fn grouped(members: Vec<Member>, graph: &ModelGraph) -> Vec<Member> {
    let is_end =
        |member: &Member| matches!(member, Member::Node(place) if graph.nodes[*place].kind != NodeKind::Operator);
    if !(1..=MOST_ENDS).contains(&members.iter().filter(|member| is_end(member)).count()) {
        return in_groups(members, graph);
    }
    let (ends, others): (Vec<_>, Vec<_>) = members.into_iter().partition(is_end);
    let mut groups = in_groups(others, graph);
    groups.extend(ends);
    groups.sort_by_cached_key(Member::first);
    groups
}

fn in_groups(members: Vec<Member>, graph: &ModelGraph) -> Vec<Member> {
    let passing = passing(&members, graph);
    let size = members.len().div_ceil(GROUPS).clamp(LEAST, MOST_MEMBERS * 2 / 3);
    let mut groups = Vec::new();
    let mut members = members.into_iter();
    let mut start = 0;
    while members.len() > 0 {
        let end = cut(&passing, start, size);
        let group: Vec<Member> = members.by_ref().take(end - start).collect();
        groups.push(as_one(group, graph));
        start = end;
    }
    groups
}

/// Returns how many values pass between each member and the one before it.
fn passing(members: &[Member], graph: &ModelGraph) -> Vec<usize> {
    let places = places(members);
    let mut spans: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for edge in &graph.edges {
        let ends = (places.get(&edge.from).copied(), places.get(&edge.to).copied());
        if let (Some(from), Some(to)) = ends {
            let (first, last) = spans.entry(edge.value).or_insert((from, to));
            (*first, *last) = ((*first).min(from), (*last).max(to));
        }
    }
    let mut changes = vec![0isize; members.len() + 2];
    for (first, last) in spans.into_values().filter(|(first, last)| first < last) {
        changes[first + 1] += 1;
        changes[last + 1] -= 1;
    }
    let mut open = 0;
    changes
        .iter()
        .take(members.len() + 1)
        .map(|change| {
            open += change;
            open.max(0) as usize
        })
        .collect()
}

/// Returns where the group that begins at `start` ends: near `size`, where the fewest values pass.
fn cut(passing: &[usize], start: usize, size: usize) -> usize {
    let members = passing.len() - 1;
    if members - start <= size + size / 2 {
        return members;
    }
    let range = start + size - size / 3..=start + size + size / 3;
    let distance = |at: usize| at.abs_diff(start + size);
    range.min_by_key(|at| (passing[*at], distance(*at))).unwrap_or(members)
}

fn as_one(members: Vec<Member>, graph: &ModelGraph) -> Member {
    let label = |member: Option<&Member>| member.map_or("", |member| member.label(&graph.nodes)).to_owned();
    let (first, last) = (label(members.first()), label(members.last()));
    // A group is named after its first and its last part.
    let begin = first.split(" … ").next().unwrap_or_default();
    let end = last.split(" … ").last().unwrap_or_default();
    let name = format!("{begin} … {end}");
    Member::Module(Module { name, members })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::model::{Edge, Node};

    /// Returns a graph of blocks of ten consecutive operators; inside a block, all take the output of the first.
    fn blocks(count: usize) -> ModelGraph {
        let node = |place: usize| Node {
            name: format!("n{place}"),
            op_type: if place.is_multiple_of(10) { "Conv".to_owned() } else { "Add".to_owned() },
            kind: NodeKind::Operator,
            modules: Vec::new(),
            source: None,
            takes: Vec::new(),
            gives: Vec::new(),
            values: Vec::new(),
        };
        let edge = |from, to| Edge { from, to, value: from, shape: String::new() };
        let nodes: Vec<Node> = (0..count * 10).map(node).collect();
        let within = |to: usize| (to % 10 > 1).then(|| edge(to / 10 * 10, to));
        let edges = (1..nodes.len()).flat_map(|to| [Some(edge(to - 1, to)), within(to)]).flatten().collect();
        ModelGraph { nodes, edges, constant: 0 }
    }

    fn count(module: &Module, levels: &mut Vec<usize>) -> usize {
        levels.push(module.members.len());
        let nodes = |member: &Member| if let Member::Module(module) = member { count(module, levels) } else { 1 };
        module.members.iter().map(nodes).sum()
    }

    #[test]
    fn a_long_chain_becomes_levels_that_can_be_drawn_and_loses_no_operator() {
        for blocks_of_ten in [1, 4, 40, 500] {
            let graph = blocks(blocks_of_ten);
            let mut levels = Vec::new();
            let nodes = count(&divided(Module::tree(&graph), &graph), &mut levels);
            assert_eq!(nodes, blocks_of_ten * 10);
            assert!(levels.iter().all(|members| (1..=MOST_MEMBERS).contains(members)), "{levels:?}");
        }
    }

    #[test]
    fn groups_end_where_the_fewest_values_pass() {
        let graph = blocks(12);
        let module = divided(Module::tree(&graph), &graph);
        for member in &module.members {
            // One value passes before a block's first operator, and after it; elsewhere there are two.
            assert!(member.first() % 10 < 2, "a group begins with operator {} of a block", member.first() % 10);
            assert!(member.label(&graph.nodes).contains(" … "));
        }
    }
}
