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
