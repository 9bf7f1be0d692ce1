//! Where NaN or infinity is met first in a run: the operator that makes it, or that takes it from outside.

use std::collections::{BTreeMap, BTreeSet};

use opscope_model::Dispatch;
use opscope_onnx::{OperatorId, Producer};
use opscope_tensor::{Asked, Depth, Findings, TensorView};

use crate::plan::PlanInfo;
use crate::{Moment, NonFinite, NonFiniteInput, Watched};

/// NaN or infinity around an operator, and where it comes from.
pub(crate) struct Found {
    /// What no operator of the run has made, where the run meets it first.
    pub inputs: Vec<NonFiniteInput>,
    pub outputs: Vec<NonFinite>,
    came_in: Counts,
}

/// What was seen in the outputs of a run's operators that is not finite.
pub(crate) type Met = BTreeMap<OperatorId, Counts>;

/// How many elements are NaN and infinite.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub nan: u64,
    pub infinite: u64,
}

/// Looks through what enters the run at an operator and through its outputs, and only where those are not finite through
/// its inputs, too.
pub(crate) fn find_non_finite(
    plan: &PlanInfo,
    met: &mut Met,
    dispatch: &Dispatch<'_>,
    outputs: &[TensorView<'_>],
) -> Option<Found> {
    let inputs = plan.entering().at(dispatch);
    let found = outputs.iter().enumerate().filter_map(|(slot, view)| {
        let Counts { nan, infinite } = look(view)?;
        let value = dispatch.kernel.outputs.get(slot).and_then(|values| values.first());
        let value = value.map(|&id| dispatch.graph.value(id).name.clone());
        Some(NonFinite { slot: slot as u32, value, nan, infinite })
    });
    let found: Vec<NonFinite> = found.collect();
    if inputs.is_empty() && found.is_empty() {
        return None;
    }
    let came_in = came_in(plan, met, dispatch).and(plan.entering().known(dispatch));
    let made = found.iter().map(|output| Counts { nan: output.nan, infinite: output.infinite });
    let made = made.fold(Counts::default(), Counts::and);
    for part in &dispatch.kernel.operators {
        let known = met.entry(part.operator).or_default();
        *known = known.and(made);
    }
    Some(Found { inputs, outputs: found, came_in })
}

/// What there is in the inputs. Where the engine holds one in a form of its own, what was seen of the operators counts that
/// made them, and what the run was given.
fn came_in(plan: &PlanInfo, met: &Met, dispatch: &Dispatch<'_>) -> Counts {
    let views = dispatch.inputs.iter();
    let seen = views.filter_map(|view| presence(view, Depth::Presence)).fold(Counts::default(), Counts::and);
    if dispatch.inputs.iter().all(|view| view.byte_len().is_some()) {
        return seen;
    }
    let here = || dispatch.kernel.operators.iter().map(|part| part.operator);
    let mut all = here().filter_map(|operator| met.get(&operator)).copied().fold(seen, Counts::and);
    let mut left: Vec<OperatorId> = here().collect();
    let mut passed = BTreeSet::new();
    while let Some(operator) = left.pop() {
        for &value in dispatch.graph.operator(operator).inputs.iter().flatten() {
            match dispatch.graph.value(value).producer {
                // One that is not executed hands on what it takes.
                Producer::Operator(maker, _) if plan.kernel_for(maker, Moment::Before).is_none() => {
                    if passed.insert(maker) {
                        left.push(maker);
                    }
                }
                Producer::Operator(maker, _) => all = all.and(met.get(&maker).copied().unwrap_or_default()),
                Producer::Input | Producer::Initializer => {
                    let view = dispatch.live.value(value);
                    all = all.and(view.and_then(|view| presence(&view, Depth::Presence)).unwrap_or_default());
                }
            }
        }
    }
    all
}

impl Found {
    /// Whether something that is watched for was made here, so that it is in an output and was in no input, or comes here
    /// from outside of the run.
    pub fn is_news_for(&self, watched: Watched) -> bool {
        let is_watched = |nan: u64, infinite: u64| watched.nan() && nan > 0 || watched.infinite() && infinite > 0;
        let comes = self.inputs.iter().any(|input| is_watched(input.nan, input.infinite));
        let is_there = self.outputs.iter().any(|output| is_watched(output.nan, output.infinite));
        comes || is_there && !is_watched(self.came_in.nan, self.came_in.infinite)
    }
}

impl Counts {
    pub fn and(self, other: Self) -> Self {
        Self { nan: self.nan + other.nan, infinite: self.infinite + other.infinite }
    }

    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }
}

/// How many elements are NaN and infinite; none where there are none, and for tensors without a byte form.
pub(crate) fn look(view: &TensorView<'_>) -> Option<Counts> {
    presence(view, Depth::Presence)?;
    presence(view, Depth::Count)
}

fn presence(view: &TensorView<'_>, depth: Depth) -> Option<Counts> {
    let asked = Asked { nan: depth, infinite: depth, ..Asked::default() };
    let found = Findings::of(view, asked).ok()?;
    Some(Counts { nan: found.nan, infinite: found.infinite }).filter(|counts| !counts.is_nothing())
}
