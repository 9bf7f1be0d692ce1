use std::sync::Arc;

use opscope_tensor::{DType, Difference};

use super::criteria::Criteria;
use super::programs::{self, ModuleMap};
use super::{MatchedBy, Outcome, Row, elements};
use crate::{StoredDump, StoredTensor};

/// A tolerance that comes from rounding: both sides are compared with a run in a wider type. A value differs if its
/// error there is more than [`factor`](Self::factor) times that of the other side.
#[derive(Debug, Clone)]
pub struct Noise {
    /// The run in a wider type.
    pub wider: Arc<StoredDump>,
    /// The multiple of the other side's error that is accepted.
    pub factor: f64,
}

impl Noise {
    /// The default factor. Errors of rounding in another order differ by less.
    pub const FACTOR: f64 = 8.0;
}

/// The error of rounding numbers once, divided by their root mean square and by the relative distance between
/// neighbouring numbers of the type.
const ONE_ROUNDING: f64 = 0.3;

/// Compares tensors with a run in a wider type.
pub(super) struct NoiseJudge<'a> {
    noise: &'a Noise,
    criteria: &'a Criteria,
    /// For each tensor of both sides, its partner in the wider run.
    partners: [Vec<Option<(usize, MatchedBy)>>; 2],
    /// For each side, the distance between neighbouring numbers of its coarsest type, relative to the numbers.
    steps: [f64; 2],
}

impl<'a> NoiseJudge<'a> {
    pub fn new(
        noise: &'a Noise,
        tensors: &StoredDump,
        reference: &StoredDump,
        map: &ModuleMap,
        criteria: &'a Criteria,
    ) -> Self {
        let ours = programs::pairs(tensors, &noise.wider, map);
        let theirs = programs::pairs(reference, &noise.wider, &ModuleMap::default());
        Self { noise, criteria, partners: [ours, theirs], steps: [step(tensors), step(reference)] }
    }

    /// Judges a pair that was compared. Returns whether the wider run has it.
    pub fn judge(&self, row: &mut Row, indices: [usize; 2], pair: [&StoredTensor; 2]) -> bool {
        let Outcome::Compared { difference, within } = &mut row.outcome else { return false };
        let [Some(ours), Some(theirs)] = [0, 1].map(|side| self.error(side, indices[side], pair[side])) else {
            return false;
        };
        let [step, other_step] = self.steps;
        // If this side has the coarser type, its error may be larger by the ratio of the distances between the types'
        // numbers.
        let scaled = theirs.rmse * (step / other_step).max(1.0);
        let least = ONE_ROUNDING * step * root_mean_square(&ours);
        let is_near = ours.rmse <= self.noise.factor * scaled.max(least);
        *within = is_near && difference.mismatches() == 0;
        true
    }

    /// Returns how far a tensor is from that of the wider run.
    fn error(&self, side: usize, index: usize, tensor: &StoredTensor) -> Option<Difference> {
        let (partner, _) = self.partners[side][index]?;
        let wider = &self.noise.wider.tensors[partner];
        match (tensor.shape == wider.shape).then(|| elements::difference(tensor, wider, self.criteria))?.ok()? {
            Outcome::Compared { difference, .. } => Some(difference),
            _ => None,
        }
    }
}

/// Returns the root mean square of the reference of a difference.
fn root_mean_square(difference: &Difference) -> f64 {
    match difference.sqnr {
        Some(sqnr) if sqnr.is_finite() => difference.rmse * 10f64.powf(sqnr / 20.0),
        _ => difference.max_reference,
    }
}

/// Returns the distance between neighbouring numbers of the coarsest floating-point type of a dump, relative to the
/// numbers.
fn step(dump: &StoredDump) -> f64 {
    let steps = dump.tensors.iter().filter_map(|tensor| tensor.dtype).filter_map(|dtype| match dtype {
        DType::Bf16 => Some(2f64.powi(-7)),
        DType::F16 => Some(2f64.powi(-10)),
        DType::F32 | DType::Complex64 => Some(2f64.powi(-23)),
        DType::F64 | DType::Complex128 => Some(2f64.powi(-52)),
        _ => None,
    });
    steps.fold(2f64.powi(-52), f64::max)
}
