//! Where a run goes on to.

use opscope_onnx::{Graph, Operator, modules_of_operator};

use crate::breakpoint::Target;

/// The operators before which a run stops that goes on until one of them.
pub(crate) enum Destination {
    /// Those of a target.
    Target(Target),
    /// Those that are not in a module, which has this path of modules.
    Outside(Modules),
    /// Those that are not in a module inside of this one.
    NotDeeper(Modules),
}

/// The full paths of modules, each inside of the one before it.
pub(crate) struct Modules(Box<[String]>);

impl Modules {
    /// Returns the outermost modules of an operator, this many of them at most.
    pub fn of(operator: &Operator, depth: usize) -> Self {
        Self(modules(operator).into_iter().take(depth).map(str::to_owned).collect())
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    fn contains(&self, modules: &[&str]) -> bool {
        modules.len() >= self.0.len() && self.0.iter().zip(modules).all(|(own, other)| own == other)
    }
}

impl Destination {
    /// Returns the operators of a graph at which the run stops, in the order of their ids.
    pub fn operators<'a>(&self, graph: &'a Graph) -> Vec<&'a Operator> {
        match self {
            Destination::Target(target) => target.operators(graph),
            Destination::Outside(_) | Destination::NotDeeper(_) => {
                graph.all_operators().filter(|operator| self.may_be(operator)).collect()
            }
        }
    }

    /// Returns whether the run may stop at an operator that was just found.
    pub fn may_be(&self, operator: &Operator) -> bool {
        match self {
            Destination::Target(target) => target.may_match(operator),
            Destination::Outside(left) => !left.contains(&modules(operator)),
            Destination::NotDeeper(here) => {
                let modules = modules(operator);
                modules.len() <= here.0.len() || !here.contains(&modules)
            }
        }
    }
}

fn modules(operator: &Operator) -> Vec<&str> {
    modules_of_operator(&operator.name, operator.origin.as_ref())
}
