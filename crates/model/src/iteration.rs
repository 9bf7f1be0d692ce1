use opscope_onnx::{Graph, OperatorId};
use serde::{Deserialize, Serialize};

/// An iteration of the body of an `If`, a `Loop` or a `Scan`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Iteration {
    /// The operator whose body it is.
    pub operator: OperatorId,
    /// The iteration, from 0. Always 0 for `If`.
    pub index: u32,
}

/// An iteration of a loop with the name of its operator, for files and messages.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LoopIteration {
    /// The name of the operator whose body it is.
    pub operator: String,
    /// The iteration, from 0.
    pub index: u32,
}

impl LoopIteration {
    /// Returns the iterations on a path, except for those of `If`. Its branches are executed once, and differ in the
    /// names of their operators.
    pub fn on(path: &[Iteration], graph: &Graph) -> Vec<Self> {
        let levels = path.iter().map(|level| (graph.operator(level.operator), level.index));
        let loops = levels.filter(|(operator, _)| operator.op_type != "If");
        loops.map(|(operator, index)| Self { operator: operator.name.clone(), index }).collect()
    }

    /// Returns the numbers of iterations in the form that follows the name of an operator or a value: `[17]`, or
    /// `[17][2]` in a nested loop. Empty outside of loops.
    pub fn indices(iterations: &[Self]) -> String {
        iterations.iter().map(|iteration| format!("[{}]", iteration.index)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::GraphBuilder;

    #[test]
    fn a_path_has_the_iterations_of_loops_only() {
        let graph = GraphBuilder::new("nested")
            .input("x", &[1])
            .operator("Loop_0", "Loop", &["x"], &["y"])
            .output("y")
            .body("Loop_0", "body")
            .operator("If_0", "If", &["x"], &["a"])
            .output("a")
            .body("Loop_0/If_0", "then_branch")
            .operator("Scan_0", "Scan", &["x"], &["b"])
            .output("b")
            .build();
        let level = |name: &str, index| Iteration { operator: graph.operator_named(name).unwrap().id, index };
        let path = [level("Loop_0", 17), level("Loop_0/If_0", 0), level("Loop_0/If_0/Scan_0", 2)];
        let iterations = LoopIteration::on(&path, &graph);
        let names: Vec<_> = iterations.iter().map(|iteration| iteration.operator.as_str()).collect();
        assert_eq!(names, ["Loop_0", "Loop_0/If_0/Scan_0"]);
        assert_eq!(LoopIteration::indices(&iterations), "[17][2]");
        assert_eq!(LoopIteration::indices(&[]), "");
    }
}
