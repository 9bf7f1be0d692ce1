//! Which operators of the file a kernel stands for.
//!
//! At exact fidelity a kernel's name tells. An optimiser, though, names a fused kernel after the *last* operator that
//! went into it: a convolution with the addition behind it is called after the addition. Counting time by such names
//! credits the wrong operators, so a matrix kernel counts for the matrix operator in it. What went into which kernel is
//! not recorded anywhere; it is inferred from the graph and marked as inferred.

use std::collections::{HashMap, HashSet, VecDeque};

use opscope_model::{Attribution, Fidelity, KernelId};
use opscope_onnx::{Graph, Operator, OperatorId, Producer};

/// One step of the engine's, as far as attribution needs it.
pub(crate) struct Step {
    /// What the engine executes.
    pub op: String,
    /// The operator that its name leads to.
    pub named: Option<OperatorId>,
    /// The steps whose outputs it takes.
    pub feeds_from: Vec<KernelId>,
    /// The operators that the names of its constants lead to.
    pub constants: Vec<OperatorId>,
}

/// Operators that are executed by a matrix kernel, which is where the time goes.
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

/// For every step the operators that it stands for, the one that its time counts for first.
pub(crate) fn attribute(graph: &Graph, steps: &[Step], fidelity: Fidelity) -> Vec<Vec<Attribution>> {
    if steps.is_empty() {
        return Vec::new();
    }
    let mut groups: Vec<Vec<Attribution>> = Vec::with_capacity(steps.len());
    for step in steps {
        let inherited =
            || step.feeds_from.first().and_then(|step| groups.get(step.index())).map(|group| group[0].operator);
        let group = match step.named {
            Some(operator) => Attribution { operator, exact: true },
            None => Attribution { operator: inherited().unwrap_or(graph.operators[0].id), exact: false },
        };
        groups.push(vec![group]);
    }
    if fidelity == Fidelity::Optimised {
        credit_matrix_operators(graph, steps, &mut groups);
        place_the_rest(graph, &mut groups);
    }
    groups
}

fn is_matrix(operator: &Operator) -> bool {
    operator.domain.is_empty() && MATRIX_OPERATORS.contains(&operator.op_type.as_str())
}

fn is_matrix_kernel(op: &str) -> bool {
    (op.contains("MatMul") || op.contains("EinSum")) && !prepares_operand(op)
}

/// Whether a step only brings an operand into the layout that a matrix kernel reads.
fn prepares_operand(op: &str) -> bool {
    op.contains("Pack") || op.contains("Im2col")
}

/// Puts the matrix operator first in each matrix kernel that is named after something else.
fn credit_matrix_operators(graph: &Graph, steps: &[Step], groups: &mut [Vec<Attribution>]) {
    let mut claimed: HashSet<OperatorId> = steps
        .iter()
        .filter(|step| is_matrix_kernel(&step.op))
        .filter_map(|step| step.named)
        .filter(|&id| is_matrix(graph.operator(id)))
        .collect();
    for (index, step) in steps.iter().enumerate().filter(|(_, step)| is_matrix_kernel(&step.op)) {
        let named = groups[index][0];
        if is_matrix(graph.operator(named.operator)) {
            continue;
        }
        // The steps that prepare a matrix kernel's operands, and its packed weights, carry the matrix operator's own name.
        let feeds = step.feeds_from.iter().map(|&from| &steps[from.index()]);
        let hinted: Vec<OperatorId> = feeds
            .filter(|feed| prepares_operand(&feed.op))
            .filter_map(|feed| feed.named)
            .chain(step.constants.iter().copied())
            .filter(|&id| is_matrix(graph.operator(id)))
            .collect();
        if let Some(matrix) = nearest_before(graph, named.operator, |id| hinted.contains(&id)).or_else(|| {
            nearest_before(graph, named.operator, |id| is_matrix(graph.operator(id)) && !claimed.contains(&id))
        }) {
            claimed.insert(matrix);
            groups[index].insert(0, Attribution { operator: matrix, exact: false });
        }
    }
}

/// The nearest operator before another for which `wanted` holds.
fn nearest_before(graph: &Graph, start: OperatorId, wanted: impl Fn(OperatorId) -> bool) -> Option<OperatorId> {
    let producers = |id: OperatorId| {
        graph.operator(id).inputs.iter().flatten().filter_map(|&input| match graph.value(input).producer {
            Producer::Operator(operator, _) => Some(operator),
            Producer::Input | Producer::Initializer => None,
        })
    };
    nearest(start, wanted, |id| producers(id).collect())
}

/// The nearest operator after another for which `wanted` holds.
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

/// Operators that no kernel is named after were fused into a neighbour: the next one behind them that has a kernel, or
/// else before them. What depends on no input was computed at load and has no time.
fn place_the_rest(graph: &Graph, groups: &mut [Vec<Attribution>]) {
    let mut home: HashMap<OperatorId, usize> = HashMap::new();
    for (index, group) in groups.iter().enumerate() {
        for attribution in group {
            home.entry(attribution.operator).or_insert(index);
        }
    }
    let depends = graph.depends_on_input();
    for operator in &graph.operators {
        let computed_in_runs = operator.outputs.iter().flatten().any(|output| depends[output.index()]);
        if home.contains_key(&operator.id) || !computed_in_runs {
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
