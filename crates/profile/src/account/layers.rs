//! The operators of a model as a tree of the modules that they are in.

use std::borrow::Cow;
use std::collections::BTreeMap;

use opscope_onnx::path_of_operator;
use serde::Serialize;

use super::{Account, OperatorTimes};

/// A layer of a model: the operators that are in the same module, according to [`path_of_operator`].
/// `/encoder/layer.3/MatMul` is in `/encoder`, and there in `/encoder/layer.3`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Layer {
    /// Its path, such as `encoder.layer.3`. A path that was derived from names has their form, such as
    /// `/encoder/layer.3`. Empty for the whole model.
    pub path: String,
    /// The number of its operators, including those of the layers in it.
    pub operators: u64,
    /// The total time of all runs.
    pub total_ns: f64,
    /// The mean time of a run.
    pub mean_ns: f64,
    /// Its time in a run of median length: the sum of its operators' medians. The median of an operator that only some
    /// runs executed counts only for their share of the runs.
    pub median_ns: f64,
    /// The same as a percentage.
    pub percent: f64,
    /// The mean number of floating-point operations of a run, for operators whose number is known.
    pub flops: f64,
    /// The number of its operators whose floating-point operations are not known.
    pub unknown_flops: u64,
    /// 10^9 operations per second, in its median time. `None` if the operations of an operator are not known.
    pub gflops_per_s: Option<f64>,
    /// The layers in it, sorted by time.
    pub layers: Vec<Layer>,
}

impl Account {
    /// Returns the operators as a tree of the modules that they are in. Kernels that the engine added are not included.
    pub fn layers(&self) -> Layer {
        let mut tree = Tree::default();
        let run = self.run.median_ns;
        for row in self.operators.iter().filter(|row| !row.added) {
            tree.add(&path_of(row), row, run);
        }
        tree.layer(String::new())
    }

    /// Returns the layers at a depth of the tree, sorted by time. An operator at a smaller depth counts for the deepest
    /// layer that it is in: at depth 2, `/encoder/Add` counts for `/encoder`. The path is empty for operators without
    /// one.
    pub fn layers_at(&self, depth: usize) -> Vec<Layer> {
        let mut groups: BTreeMap<String, Tree> = BTreeMap::new();
        for row in self.operators.iter().filter(|row| !row.added) {
            let path = path_of(row);
            let path = path[..depth.min(path.len())].concat();
            groups.entry(path).or_default().add(&[], row, self.run.median_ns);
        }
        let mut layers: Vec<Layer> = groups.into_iter().map(|(path, tree)| tree.layer(path)).collect();
        layers.sort_by(|a, b| b.median_ns.total_cmp(&a.median_ns));
        layers
    }
}

fn path_of(row: &OperatorTimes) -> Vec<Cow<'_, str>> {
    path_of_operator(&row.operator, row.origin.as_ref())
}

#[derive(Default)]
struct Tree<'a> {
    own: Layer,
    inner: BTreeMap<Cow<'a, str>, Tree<'a>>,
}

impl<'a> Tree<'a> {
    fn add(&mut self, path: &[Cow<'a, str>], row: &OperatorTimes, run: f64) {
        let mut tree = self;
        tree.own.count(row, run);
        for segment in path {
            tree = tree.inner.entry(segment.clone()).or_default();
            tree.own.count(row, run);
        }
    }

    fn layer(self, path: String) -> Layer {
        let inner = self.inner.into_iter().map(|(segment, tree)| tree.layer(format!("{path}{segment}")));
        let mut layers: Vec<Layer> = inner.collect();
        layers.sort_by(|a, b| b.median_ns.total_cmp(&a.median_ns));
        let own = self.own;
        let is_known = own.unknown_flops == 0 && own.median_ns > 0.0;
        Layer { gflops_per_s: is_known.then(|| own.flops / own.median_ns), path, layers, ..own }
    }
}

impl Layer {
    fn count(&mut self, row: &OperatorTimes, run: f64) {
        self.operators += 1;
        self.total_ns += row.total_ns;
        self.mean_ns += row.mean_ns;
        self.median_ns += row.percent / 100.0 * run;
        self.percent += row.percent;
        match row.work.as_ref().and_then(|work| work.flops) {
            Some(flops) => self.flops += flops,
            None => self.unknown_flops += 1,
        }
    }
}
