use opscope_model::{Kernel, KernelId};
use opscope_onnx::{Graph, Operator, ValueId};

/// The kernels that are executed for an operator.
#[derive(Clone)]
pub(super) struct Span {
    pub first: KernelId,
    pub last: KernelId,
    /// How many kernels count for it.
    pub kernels: u32,
    /// Whether the operator has several kernels of its own that compute its outputs.
    pub is_split: bool,
}

/// Returns the kernels of each operator of the file; `None` if no kernel is executed for it. An operator in a body that
/// the engine does not show has the kernels of the operator around it.
pub(super) fn spans(graph: &Graph, kernels: &[Kernel]) -> Vec<Option<Span>> {
    let mut spans: Vec<Option<Span>> = graph.all_operators().map(|_| None).collect();
    let mut begins = vec![false; spans.len()];
    for kernel in kernels {
        let Some(operator) = kernel.operator() else { continue };
        // An operator begins with the first kernel that takes an input that differs from run to run.
        let is_first = !begins[operator.index()] && takes_inputs(graph.operator(operator), kernel);
        begins[operator.index()] |= is_first;
        match &mut spans[operator.index()] {
            Some(span) => {
                span.last = kernel.id;
                span.kernels += 1;
                if is_first {
                    span.first = kernel.id;
                }
            }
            none => *none = Some(Span { first: kernel.id, last: kernel.id, kernels: 1, is_split: false }),
        }
    }
    for (span, operator) in spans.iter_mut().zip(graph.all_operators()) {
        let Some(span) = span.as_mut().filter(|span| span.kernels > 1) else { continue };
        let own = || kernels.iter().filter(|kernel| kernel.operator() == Some(operator.id));
        let is_given = |value: &ValueId| own().any(|kernel| kernel.outputs.iter().any(|values| values.contains(value)));
        span.is_split =
            own().all(|kernel| kernel.operators.len() == 1) && operator.outputs.iter().flatten().all(is_given);
    }
    // The rest are operators that no kernel counts for.
    let counted: Vec<bool> = spans.iter().map(Option::is_some).collect();
    for kernel in kernels {
        for part in kernel.operators.iter().filter(|part| !counted[part.operator.index()]) {
            spans[part.operator.index()]
                .get_or_insert(Span { first: kernel.id, last: kernel.id, kernels: 0, is_split: false })
                .last = kernel.id;
        }
    }
    for body in &graph.bodies {
        for inner in graph.operators_of(body).iter().map(|inner| inner.id.index()) {
            if spans[inner].is_none() {
                let owner = spans[body.owner.index()].clone();
                spans[inner] = owner.map(|owner| Span { kernels: 0, is_split: false, ..owner });
            }
        }
    }
    spans
}

/// Returns whether a kernel takes an input of its operator that differs from run to run.
fn takes_inputs(operator: &Operator, kernel: &Kernel) -> bool {
    kernel.inputs.iter().any(|input| !input.constant && input.value.is_some() && operator.inputs.contains(&input.value))
}
