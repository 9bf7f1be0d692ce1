//! The operators of a model as a tree, by the paths in their names.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Account, OperatorTimes};

/// A layer of a model: the operators whose names begin with the same path. `/encoder/layer.3/MatMul` lies in `/encoder`, and there in
/// `/encoder/layer.3`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Layer {
    /// Its path as it stands in the names, as in `/encoder/layer.3`. Empty for the whole model.
    pub path: String,
    /// How many operators it has, with those of the layers in it.
    pub operators: u64,
    /// Of all runs together.
    pub total_ns: f64,
    /// Of a run, the mean.
    pub mean_ns: f64,
    /// Of all runs' time.
    pub percent: f64,
    /// Floating-point operations of a run, the mean, of the operators for which they are known.
    pub flops: f64,
    /// How many of its operators have unknown operations.
    pub unknown_flops: u64,
    /// 10^9 operations in a second, of its mean time. `None` if the operations of an operator are not known.
    pub gflops_per_s: Option<f64>,
    /// The layers in it, by time.
    pub layers: Vec<Layer>,
}

impl Account {
    /// Returns the operators as a tree, by the paths in their names. Kernels that the engine added are not included.
    pub fn layers(&self) -> Layer {
        let mut tree = Tree::default();
        for row in self.operators.iter().filter(|row| !row.added) {
            tree.add(&segments(&row.operator), row);
        }
        tree.layer(String::new())
    }

    /// Returns the layers at a depth of the tree, by time. An operator that lies less deep counts for the deepest layer that it is in: at
    /// depth 2, `/encoder/Add` counts for `/encoder`. The path is empty for operators without one.
    pub fn layers_at(&self, depth: usize) -> Vec<Layer> {
        let mut groups: BTreeMap<String, Tree> = BTreeMap::new();
        for row in self.operators.iter().filter(|row| !row.added) {
            let segments = segments(&row.operator);
            let path = segments[..depth.min(segments.len())].concat();
            groups.entry(path).or_default().add(&[], row);
        }
        let mut layers: Vec<Layer> = groups.into_iter().map(|(path, tree)| tree.layer(path)).collect();
        layers.sort_by(|a, b| b.total_ns.total_cmp(&a.total_ns));
        layers
    }
}

/// The rest of a path that is deeper is one part.
const DEEPEST: usize = 62;

/// Returns the parts of the path in a name, each with its slash: of `/encoder/layer.3/MatMul`, `/encoder` and `/layer.3`.
fn segments(name: &str) -> Vec<&str> {
    let path = name.rfind('/').map_or("", |end| &name[..end]);
    let mut segments = Vec::new();
    let mut start = 0;
    for (at, _) in path.match_indices('/').filter(|(at, _)| *at > 0).take(DEEPEST) {
        segments.push(&path[start..at]);
        start = at;
    }
    if start < path.len() {
        segments.push(&path[start..]);
    }
    segments
}

#[derive(Default)]
struct Tree<'a> {
    own: Layer,
    inner: BTreeMap<&'a str, Tree<'a>>,
}

impl<'a> Tree<'a> {
    fn add(&mut self, path: &[&'a str], row: &OperatorTimes) {
        let mut tree = self;
        tree.own.count(row);
        for segment in path {
            tree = tree.inner.entry(segment).or_default();
            tree.own.count(row);
        }
    }

    fn layer(self, path: String) -> Layer {
        let inner = self.inner.into_iter().map(|(segment, tree)| tree.layer(format!("{path}{segment}")));
        let mut layers: Vec<Layer> = inner.collect();
        layers.sort_by(|a, b| b.total_ns.total_cmp(&a.total_ns));
        let own = self.own;
        let is_known = own.unknown_flops == 0 && own.mean_ns > 0.0;
        Layer { gflops_per_s: is_known.then(|| own.flops / own.mean_ns), path, layers, ..own }
    }
}

impl Layer {
    fn count(&mut self, row: &OperatorTimes) {
        self.operators += 1;
        self.total_ns += row.total_ns;
        self.mean_ns += row.mean_ns;
        self.percent += row.percent;
        match row.work.as_ref().and_then(|work| work.flops) {
            Some(flops) => self.flops += flops,
            None => self.unknown_flops += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::segments;

    #[test]
    fn the_path_of_a_name_is_what_stands_before_its_last_slash() {
        assert_eq!(segments("/encoder/layer.3/MatMul"), ["/encoder", "/layer.3"]);
        assert_eq!(segments("Loop_3/Add_0"), ["Loop_3"]);
        assert_eq!(segments("conv1"), [""; 0]);
        assert_eq!(segments("/Add"), [""; 0]);
        assert_eq!(segments("//é//x"), ["/", "/é", "/"]);
    }
}
