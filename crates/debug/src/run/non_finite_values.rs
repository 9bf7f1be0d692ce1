//! Finds the operator at which NaN or infinity first occurs in a run: the one that computes it, or takes it from
//! outside.

use std::collections::BTreeSet;

use opscope_model::Dispatch;
use opscope_onnx::{OperatorId, Producer};
use opscope_tensor::{Detail, TensorView};

use super::counts::{Counts, SeenCounts, count_non_finite, search};
use super::plan::PlanInfo;
use crate::breakpoint::Watched;
use crate::event::{Moment, NonFinite, NonFiniteInput};

/// The non-finite values among the inputs and outputs of an operator.
pub(crate) struct NonFiniteValues {
    /// The external values that this operator is the first to take.
    pub inputs: Vec<NonFiniteInput>,
    pub outputs: Vec<NonFinite>,
    in_inputs: Counts,
}

/// Searches the external values that enter the run at an operator, and its outputs. Searches its inputs only if the
/// outputs are not finite. Returns `None` if all are finite.
pub(crate) fn find_non_finite(
    plan: &PlanInfo,
    seen: &mut SeenCounts,
    dispatch: &Dispatch<'_>,
    outputs: &[TensorView<'_>],
) -> Option<NonFiniteValues> {
    // A value enters a loop only once.
    let is_again = !dispatch.path.is_empty() && seen.contains_key(&dispatch.operator().id);
    let inputs = if is_again { Vec::new() } else { plan.external().at(dispatch) };
    let found = outputs.iter().enumerate().filter_map(|(slot, view)| {
        let Counts { nan, infinite } = count_non_finite(view)?;
        let value = dispatch.kernel.outputs.get(slot).and_then(|values| values.first());
        let value = value.map(|&id| dispatch.graph.value(id).name.clone());
        Some(NonFinite { slot: slot as u32, value, nan, infinite })
    });
    let found: Vec<NonFinite> = found.collect();
    if inputs.is_empty() && found.is_empty() {
        return None;
    }
    let in_inputs = inputs_counts(plan, seen, dispatch).and(plan.external().known(dispatch));
    let made = found.iter().map(|output| Counts { nan: output.nan, infinite: output.infinite });
    let made = made.fold(Counts::default(), Counts::and);
    for part in &dispatch.kernel.operators {
        let known = seen.entry(part.operator).or_default();
        *known = known.and(made);
    }
    Some(NonFiniteValues { inputs, outputs: found, in_inputs })
}

/// Returns the counts in the inputs of an operator. If the engine holds an input in a form of its own, these are the
/// counts at the operators that computed it, and of the inputs of the run.
fn inputs_counts(plan: &PlanInfo, seen: &SeenCounts, dispatch: &Dispatch<'_>) -> Counts {
    let views = dispatch.inputs.iter();
    let readable = views.filter_map(|view| search(view, Detail::Presence)).fold(Counts::default(), Counts::and);
    if dispatch.inputs.iter().all(|view| view.byte_len().is_some()) {
        return readable;
    }
    let here = || dispatch.kernel.operators.iter().map(|part| part.operator);
    let mut all = here().filter_map(|operator| seen.get(&operator)).copied().fold(readable, Counts::and);
    let mut left: Vec<OperatorId> = here().collect();
    let mut passed = BTreeSet::new();
    while let Some(operator) = left.pop() {
        for &value in dispatch.graph.operator(operator).inputs.iter().flatten() {
            match dispatch.graph.value(value).producer {
                // An operator that is not executed passes its inputs on.
                Producer::Operator(maker, _) if plan.kernel_for(maker, Moment::Before).is_none() => {
                    if passed.insert(maker) {
                        left.push(maker);
                    }
                }
                Producer::Operator(maker, _) => all = all.and(seen.get(&maker).copied().unwrap_or_default()),
                Producer::Input | Producer::Initializer => {
                    let view = dispatch.live.value(value);
                    all = all.and(view.and_then(|view| search(&view, Detail::Presence)).unwrap_or_default());
                }
            }
        }
    }
    all
}

impl NonFiniteValues {
    /// Returns whether the watched elements occur here first: they are in an output and in no input, or come from
    /// outside of the run.
    pub fn is_first(&self, watched: Watched) -> bool {
        let is_watched = |nan: u64, infinite: u64| watched.nan() && nan > 0 || watched.infinite() && infinite > 0;
        let comes = self.inputs.iter().any(|input| is_watched(input.nan, input.infinite));
        let is_there = self.outputs.iter().any(|output| is_watched(output.nan, output.infinite));
        comes || is_there && !is_watched(self.in_inputs.nan, self.in_inputs.infinite)
    }
}
