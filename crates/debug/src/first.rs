//! The first operator that makes NaN or infinity.

use opscope_model::Dispatch;
use opscope_tensor::{Asked, Depth, Findings, TensorView};

use crate::{NonFinite, Watched};

/// NaN or infinity in the outputs of an operator, and whether they were in its inputs already.
pub(crate) struct Found {
    pub outputs: Vec<NonFinite>,
    nan_came_in: bool,
    infinity_came_in: bool,
}

/// Looks through the outputs of an operator, and only where they are not finite through its inputs, too.
pub(crate) fn find_non_finite(dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Option<Found> {
    let found: Vec<NonFinite> = outputs
        .iter()
        .enumerate()
        .filter_map(|(slot, view)| {
            look(view, Depth::Presence).filter(|found| *found != (0, 0))?;
            let (nan, infinite) = look(view, Depth::Count)?;
            let value = dispatch.kernel.outputs.get(slot).and_then(|values| values.first());
            let value = value.map(|&id| dispatch.graph.value(id).name.clone());
            Some(NonFinite { slot: slot as u32, value, nan, infinite })
        })
        .collect();
    if found.is_empty() {
        return None;
    }
    let came_in: Vec<(u64, u64)> = dispatch.inputs.iter().filter_map(|view| look(view, Depth::Presence)).collect();
    Some(Found {
        outputs: found,
        nan_came_in: came_in.iter().any(|(nan, _)| *nan > 0),
        infinity_came_in: came_in.iter().any(|(_, infinite)| *infinite > 0),
    })
}

impl Found {
    /// Whether something that is watched for was made here: it is in an output, and no input had any of it.
    pub fn is_news_for(&self, watched: Watched) -> bool {
        let nan = watched.nan() && self.outputs.iter().any(|output| output.nan > 0);
        let infinite = watched.infinite() && self.outputs.iter().any(|output| output.infinite > 0);
        let came_in = watched.nan() && self.nan_came_in || watched.infinite() && self.infinity_came_in;
        (nan || infinite) && !came_in
    }
}

/// How many elements are NaN and infinite; none for tensors without a byte form.
fn look(view: &TensorView<'_>, depth: Depth) -> Option<(u64, u64)> {
    let asked = Asked { nan: depth, infinite: depth, ..Asked::default() };
    Findings::of(view, asked).ok().map(|found| (found.nan, found.infinite))
}
