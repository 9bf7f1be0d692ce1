//! The modules of a model as a tree whose levels are small enough to draw.

use std::collections::HashMap;

use super::model::{ModelGraph, Node, NodeKind, without_separator};

/// How many members a level has at most. More are grouped.
pub(super) const MOST_MEMBERS: usize = 36;

/// A module of the model, or a group of consecutive members.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Module {
    /// Its path inside the module around it, with its separator, as in `/layer.3`; for a group, its label, as in `Conv
    /// … Add`.
    pub name: String,
    /// Its content, in the order of the graph.
    pub members: Vec<Member>,
}

/// A member of a module.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Member {
    /// A node of the graph, by its index.
    Node(usize),
    /// A module.
    Module(Module),
}

impl Module {
    /// Returns the modules of a graph. Modules with a single member are merged with it.
    pub(crate) fn tree(graph: &ModelGraph) -> Self {
        let mut root = Self::default();
        for (place, node) in graph.nodes.iter().enumerate() {
            root.add(&node.modules, place);
        }
        root.sort();
        root.joined().opened(graph.nodes.len())
    }

    fn add(&mut self, modules: &[String], place: usize) {
        // The last modules of a list are checked first, because consecutive operators are mostly in the same module.
        let mut module = self;
        for name in modules {
            let known = module
                .members
                .iter()
                .rposition(|member| matches!(member, Member::Module(known) if known.name == *name));
            let index = known.unwrap_or_else(|| {
                module.members.push(Member::Module(Self { name: name.clone(), members: Vec::new() }));
                module.members.len() - 1
            });
            let Member::Module(inner) = &mut module.members[index] else { return };
            module = inner;
        }
        module.members.push(Member::Node(place));
    }

    /// Sorts members by the first node of each.
    fn sort(&mut self) {
        for member in &mut self.members {
            if let Member::Module(module) = member {
                module.sort();
            }
        }
        self.members.sort_by_cached_key(Member::first);
    }

    /// Replaces modules with a single member by that member.
    fn joined(mut self) -> Self {
        self.members = self.members.into_iter().map(Member::joined).collect();
        self
    }

    /// Opens modules that contain most of the model, so that the first picture shows their parts.
    fn opened(mut self, nodes: usize) -> Self {
        loop {
            let large = self.members.iter().position(|member| match member {
                Member::Module(module) => {
                    module.nodes() * 2 > nodes && self.members.len() + module.members.len() <= MOST_MEMBERS
                }
                Member::Node(_) => false,
            });
            let Some(index) = large else { return self };
            let Member::Module(module) = self.members.remove(index) else { return self };
            let within = |member| match member {
                Member::Module(inner) => {
                    Member::Module(Self { name: format!("{}{}", module.name, inner.name), ..inner })
                }
                node => node,
            };
            let members: Vec<Member> = module.members.into_iter().map(within).collect();
            self.members.splice(index..index, members);
            self.members.sort_by_cached_key(Member::first);
        }
    }

    /// Returns how many nodes it contains.
    pub(crate) fn nodes(&self) -> usize {
        self.members.iter().map(|member| if let Member::Module(module) = member { module.nodes() } else { 1 }).sum()
    }

    /// Calls `with` for each of its nodes.
    pub(crate) fn each_node(&self, with: &mut impl FnMut(usize)) {
        for member in &self.members {
            match member {
                Member::Node(place) => with(*place),
                Member::Module(module) => module.each_node(with),
            }
        }
    }
}

impl Member {
    /// Returns the first of its nodes.
    pub(super) fn first(&self) -> usize {
        match self {
            Self::Node(place) => *place,
            Self::Module(module) => module.members.first().map_or(usize::MAX, Self::first),
        }
    }

    /// Returns the text on it.
    pub(super) fn label<'a>(&'a self, nodes: &'a [Node]) -> &'a str {
        match self {
            Self::Module(module) => without_separator(&module.name),
            Self::Node(place) => nodes[*place].label(),
        }
    }

    fn joined(self) -> Self {
        let Self::Module(module) = self else { return self };
        let mut module = module.joined();
        match (module.members.len(), module.members.pop()) {
            (1, Some(Self::Module(inner))) => {
                Self::Module(Module { name: format!("{}{}", module.name, inner.name), ..inner })
            }
            (1, Some(node)) => node,
            (_, last) => {
                module.members.extend(last);
                Self::Module(module)
            }
        }
    }
}

impl Node {
    /// Returns the text on it: an operator's type, or the name of an input or output.
    pub(crate) fn label(&self) -> &str {
        if self.kind == NodeKind::Operator { &self.op_type } else { &self.name }
    }
}

/// Returns for each node the index of the level's member that contains it.
pub(super) fn places(members: &[Member]) -> HashMap<usize, usize> {
    let mut places = HashMap::new();
    for (index, member) in members.iter().enumerate() {
        match member {
            Member::Node(place) => {
                places.insert(*place, index);
            }
            Member::Module(module) => module.each_node(&mut |place| {
                places.insert(place, index);
            }),
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a graph of operators that are in these modules.
    fn graph(modules: &[&[&str]]) -> ModelGraph {
        let node = |(place, modules): (usize, &&[&str])| Node {
            name: format!("n{place}"),
            op_type: "Add".to_owned(),
            kind: NodeKind::Operator,
            modules: modules.iter().map(ToString::to_string).collect(),
            source: None,
            takes: Vec::new(),
            gives: Vec::new(),
            values: Vec::new(),
        };
        ModelGraph { nodes: modules.iter().enumerate().map(node).collect(), edges: Vec::new(), constant: 0 }
    }

    /// Returns a tree in one line: `0 /a(1 2)`.
    fn shown(members: &[Member]) -> String {
        let member = |member: &Member| match member {
            Member::Node(place) => place.to_string(),
            Member::Module(module) => format!("{}({})", module.name, shown(&module.members)),
        };
        members.iter().map(member).collect::<Vec<_>>().join(" ")
    }

    fn tree(modules: &[&[&str]]) -> String {
        shown(&Module::tree(&graph(modules)).members)
    }

    #[test]
    fn modules_hold_what_lies_in_them_and_those_with_one_member_are_joined_with_it() {
        assert_eq!(
            tree(&[&["/a"], &[], &["/a"], &["/b"], &[], &["/c", "/d"], &["/c", "/d"]]),
            "/a(0 2) 1 3 4 /c/d(5 6)"
        );
        assert_eq!(tree(&[&["/a", "/b"], &["/a", "/b"], &["/a"], &[], &[], &[]]), "/a(/b(0 1) 2) 3 4 5");
    }

    #[test]
    fn a_module_with_more_than_half_of_the_model_is_opened() {
        let (a, b): (&[&str], &[&str]) = (&["/a"], &[]);
        assert_eq!(tree(&[a, a, b, b]), "/a(0 1) 2 3", "half is not more than half");
        assert_eq!(tree(&[a, a, a, b, b]), "0 1 2 3 4");
        let x: &[&str] = &["/a", "/x"];
        assert_eq!(tree(&[x, x, x, a, b]), "0 1 2 3 4", "what is in it is opened, too");
        assert_eq!(tree(&[x, x, a, a, b]), "/a/x(0 1) 2 3 4");
        // A level has 36 members at most, with the module itself.
        let of = |within: usize| {
            let modules: Vec<&[&str]> = (0..=within).map(|place| if place < within { a } else { b }).collect();
            Module::tree(&graph(&modules)).members.len()
        };
        assert_eq!([33, 34, 35, 36].map(of), [34, 35, 2, 2]);
    }

    #[test]
    fn nodes_are_counted_and_found_in_the_member_that_holds_them() {
        let tree = Module::tree(&graph(&[&["/a", "/b"], &["/a", "/b"], &["/a"], &[], &[], &[]]));
        assert_eq!(tree.nodes(), 6);
        let places = places(&tree.members);
        assert_eq!([0, 1, 2, 3, 4, 5].map(|node| places[&node]), [0, 0, 0, 1, 2, 3]);
        assert_eq!(tree.members[0].first(), 0);
        assert_eq!(Member::Module(Module::default()).first(), usize::MAX);
        let mut seen = Vec::new();
        tree.each_node(&mut |node| seen.push(node));
        assert_eq!(seen, [0, 1, 2, 3, 4, 5]);
    }
}
