//! The rules that hold for every engine: which operators a kernel stands for, and for which of them its time counts.

use std::collections::{HashMap, HashSet, VecDeque};

use opscope_onnx::{Graph, Operator, OperatorId, Producer};

use super::Attribution;

/// Operators that are executed by a matrix kernel, which takes most of the time.
const MATRIX_OPERATORS: &[&str] = &[
    "Conv",
    "ConvTranspose",
    "ConvInteger",
    "QLinearConv",
    "MatMul",
    "MatMulInteger",
    "QLinearMatMul",
    "Gemm",
    "Einsum",
];

/// Operators of ONNX's own domain that give their input another shape or order of axes.
pub const LAYOUT_OPERATORS: &[&str] = &["Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"];

/// Returns whether the time of a kernel that stands for several operators counts for this one.
pub fn is_matrix_operator(operator: &Operator) -> bool {
    operator.domain.is_empty() && MATRIX_OPERATORS.contains(&operator.op_type.as_str())
}

/// Returns whether an operator only gives its input another shape or order of axes.
pub fn changes_layout(operator: &Operator) -> bool {
    operator.domain.is_empty() && LAYOUT_OPERATORS.contains(&operator.op_type.as_str())
}

/// Adds each operator that no kernel stands for to the group of a neighbour: the next operator after it that has a
/// kernel or, if there is none, the nearest one before it. Operators for which `runs` does not hold are ignored.
pub fn place_the_rest(graph: &Graph, groups: &mut [Vec<Attribution>], runs: impl Fn(&Operator) -> bool) {
    let mut home: HashMap<OperatorId, usize> = HashMap::new();
    for (index, group) in groups.iter().enumerate() {
        for attribution in group {
            home.entry(attribution.operator).or_insert(index);
        }
    }
    for operator in graph.operators.iter().filter(|operator| runs(operator)) {
        if home.contains_key(&operator.id) {
            continue;
        }
        let has_home = |id: OperatorId| home.contains_key(&id);
        let neighbour =
            nearest_after(graph, operator.id, has_home).or_else(|| nearest_before(graph, operator.id, has_home));
        if let Some(neighbour) = neighbour {
            groups[home[&neighbour]].push(Attribution { operator: operator.id, exact: false });
        }
    }
}

/// Returns the nearest operator before another for which `wanted` holds.
pub fn nearest_before(graph: &Graph, start: OperatorId, wanted: impl Fn(OperatorId) -> bool) -> Option<OperatorId> {
    let producers = |id: OperatorId| {
        graph.operator(id).inputs.iter().flatten().filter_map(|&input| match graph.value(input).producer {
            Producer::Operator(operator, _) => Some(operator),
            _ => None,
        })
    };
    nearest(start, wanted, |id| producers(id).collect())
}

/// Returns the nearest operator after another for which `wanted` holds.
fn nearest_after(graph: &Graph, start: OperatorId, wanted: impl Fn(OperatorId) -> bool) -> Option<OperatorId> {
    let consumers = |id: OperatorId| {
        graph.operator(id).outputs.iter().flatten().flat_map(|&output| graph.value(output).consumers.iter().copied())
    };
    nearest(start, wanted, |id| consumers(id).collect())
}

fn nearest(
    start: OperatorId,
    wanted: impl Fn(OperatorId) -> bool,
    next: impl Fn(OperatorId) -> Vec<OperatorId>,
) -> Option<OperatorId> {
    let mut seen = HashSet::from([start]);
    let mut queue = VecDeque::from([start]);
    while let Some(id) = queue.pop_front() {
        for neighbour in next(id) {
            if seen.insert(neighbour) {
                if wanted(neighbour) {
                    return Some(neighbour);
                }
                queue.push_back(neighbour);
            }
        }
    }
    None
}
