use std::collections::{HashMap, HashSet};

use super::Node;
use super::Numbers::Attribute;
use crate::budget::guard::Refused;

impl Node<'_> {
    /// Checks the trees of an ensemble: the engine follows a tree's nodes without checking where they lead, and uses
    /// their ids as positions.
    pub(super) fn check_trees(&self) -> Result<(), Refused> {
        let list = |name: &'static str| self.numbers(Attribute(name)).unwrap_or_default();
        let (trees, nodes, features) = (list("nodes_treeids"), list("nodes_nodeids"), list("nodes_featureids"));
        let next = ["nodes_truenodeids", "nodes_falsenodeids"].map(list);
        if [&trees, &features, &next[0], &next[1]].iter().any(|list| list.len() != nodes.len()) {
            return self
                .refuse(format!("its lists of nodes have different lengths; nodes_nodeids has {}", nodes.len()));
        }
        let modes = self.node.attribute.iter().find(|attribute| attribute.name == "nodes_modes");
        let is_leaf = |place: usize| {
            modes.and_then(|modes| modes.strings.get(place)).is_some_and(|mode| mode.as_slice() == b"LEAF")
        };
        let all: HashSet<(i64, i64)> = trees.iter().copied().zip(nodes.iter().copied()).collect();
        let mut sizes: HashMap<i64, i64> = HashMap::new();
        trees.iter().for_each(|tree| *sizes.entry(*tree).or_default() += 1);
        let width = self.dims(0).and_then(|dims| dims.last().copied().flatten()).unwrap_or(i64::MAX);
        let mut reached = HashSet::new();
        for (place, (&tree, &node)) in trees.iter().zip(nodes.iter()).enumerate() {
            if all.len() != nodes.len() || !(0..sizes[&tree]).contains(&node) {
                return self
                    .refuse(format!("the nodes of tree {tree} are not numbered from 0 to {}", sizes[&tree] - 1));
            }
            if is_leaf(place) {
                continue;
            }
            if !(0..width).contains(&features[place]) {
                return self
                    .refuse(format!("node {node} of tree {tree} asks for feature {} of {width}", features[place]));
            }
            for next in next.iter().map(|next| next[place]) {
                // A node that is reached at most once, and never from below, is in no cycle.
                if next == 0 || !all.contains(&(tree, next)) || !reached.insert((tree, next)) {
                    return self.refuse(format!("node {node} of tree {tree} leads to {next}, which makes no tree"));
                }
            }
        }
        let labels = self.node.attribute.iter().filter(|attribute| attribute.name.starts_with("classlabels_"));
        let labels = labels.map(|labels| labels.ints.len() + labels.strings.len()).sum::<usize>();
        self.check_between(Attribute("class_ids"), 0, (labels as i64 - 1).max(0))
    }
}
