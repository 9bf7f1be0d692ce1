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
    fn the_values_that_pass_in_front_of_each_member_are_counted() {
        let mut graph = blocks(1);
        graph.edges = [(0, 1, 0), (0, 3, 0), (1, 3, 1), (2, 2, 2), (3, 4, 3), (4, 9, 4)]
            .map(|(from, to, value)| Edge { from, to, value, shape: String::new() })
            .to_vec();
        // Node 9 is not among them. The value of node 0 passes up to member 3, and that of node 1 passes from member 1
        // to 3.
        let members: Vec<Member> = (0..5).map(Member::Node).collect();
        assert_eq!(passing(&members, &graph), [0, 1, 2, 2, 1, 0]);
        let members = [1, 0, 3].map(Member::Node);
        assert_eq!(passing(&members, &graph), [0, 1, 2, 0], "places are those among the members");
    }

    #[test]
    fn a_group_ends_within_a_third_of_its_size_where_the_least_passes_and_nearest_to_its_size() {
        let of = |low: &[usize]| -> Vec<usize> { (0..=40).map(|at| usize::from(!low.contains(&at))).collect() };
        // A group of 12 members from 10 on ends between 18 and 26.
        assert_eq!(cut(&of(&[]), 10, 12), 22, "where nothing else decides, at the size");
        assert_eq!([17, 18, 21, 26, 27].map(|at| cut(&of(&[at]), 10, 12)), [22, 18, 21, 26, 22]);
        assert_eq!(cut(&of(&[18, 25]), 10, 12), 25, "the nearer one of two");
        // Up to half more than the size of a group stays one group.
        assert_eq!([21, 22, 23].map(|start| cut(&of(&[]), start, 12)), [33, 40, 40]);
    }

    #[test]
    fn a_few_ends_of_the_model_stay_beside_the_groups() {
        let with_ends = |ends: usize| {
            let mut graph = blocks(6);
            (0..ends).for_each(|end| graph.nodes[end * 7].kind = NodeKind::Input);
            let members: Vec<Member> = (0..60).map(Member::Node).collect();
            let groups = grouped(members, &graph);
            groups.iter().filter(|member| matches!(member, Member::Node(_))).count()
        };
        assert_eq!([0, 1, 8, 9].map(with_ends), [0, 1, 8, 0]);
        let mut graph = blocks(6);
        graph.nodes[59].kind = NodeKind::Output;
        graph.nodes[0].kind = NodeKind::Input;
        let groups = grouped((0..60).map(Member::Node).collect(), &graph);
        assert_eq!((groups.first(), groups.last()), (Some(&Member::Node(0)), Some(&Member::Node(59))));
    }

    #[test]
    fn a_group_is_named_after_its_first_and_its_last_member_also_if_they_are_groups() {
        let graph = blocks(2);
        let group = |name: &str| Member::Module(Module { name: name.to_owned(), members: vec![Member::Node(3)] });
        let name = |members: Vec<Member>| match as_one(members, &graph) {
            Member::Module(module) => module.name,
            Member::Node(_) => String::new(),
        };
        assert_eq!(name(vec![Member::Node(0), Member::Node(10), Member::Node(11)]), "Conv … Add");
        assert_eq!(name(vec![group("Conv … Add"), group("Mul … Relu")]), "Conv … Relu");
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
