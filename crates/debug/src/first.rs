//! Where NaN or infinity is met first in a run: the operator that makes it, or that takes it from outside.

use opscope_model::Dispatch;
use opscope_tensor::{Asked, Depth, Findings, TensorView};

use crate::entering::Entering;
use crate::{NonFinite, NonFiniteInput, Watched};

/// NaN or infinity around an operator, and where it comes from.
pub(crate) struct Found {
    /// What no operator of the run has made, where the run meets it first.
    pub inputs: Vec<NonFiniteInput>,
    pub outputs: Vec<NonFinite>,
    came_in: Counts,
}

/// How many elements are NaN and infinite.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub nan: u64,
    pub infinite: u64,
}

/// Looks through what enters the run at an operator and through its outputs, and only where those are not finite through
/// its inputs, too.
pub(crate) fn find_non_finite(
    entering: &Entering,
    dispatch: &Dispatch<'_>,
    outputs: &[TensorView<'_>],
) -> Option<Found> {
    let inputs = entering.at(dispatch);
    let outputs: Vec<NonFinite> = outputs
        .iter()
        .enumerate()
        .filter_map(|(slot, view)| {
            let Counts { nan, infinite } = look(view)?;
            let value = dispatch.kernel.outputs.get(slot).and_then(|values| values.first());
            let value = value.map(|&id| dispatch.graph.value(id).name.clone());
            Some(NonFinite { slot: slot as u32, value, nan, infinite })
        })
        .collect();
    if inputs.is_empty() && outputs.is_empty() {
        return None;
    }
    let came_in = dispatch.inputs.iter().filter_map(|view| presence(view, Depth::Presence));
    Some(Found { inputs, outputs, came_in: came_in.fold(entering.known(dispatch), Counts::and) })
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
