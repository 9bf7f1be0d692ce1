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

#[cfg(test)]
mod tests {
    use std::fs::File;

    use opscope_tensor::{Tensor, npy};

    use super::*;
    use crate::CompareOptions;

    /// Returns a dump of two numbers.
    fn dump(elements: [f64; 2]) -> (tempfile::TempDir, StoredDump) {
        let root = tempfile::tempdir().unwrap();
        let bytes = elements.map(f64::to_le_bytes).concat();
        let tensor = Tensor::new(DType::F64, vec![2], bytes).unwrap();
        npy::write(&tensor.view(), &mut File::create_new(root.path().join("y.npy")).unwrap()).unwrap();
        let dump = StoredDump::open(root.path()).unwrap();
        (root, dump)
    }

    /// Returns whether errors of 1 and 2 of this size are near, if the other side's are that large. The steps are those
    /// of the types of both sides.
    fn is_near(error: f64, other: f64, steps: [f64; 2]) -> bool {
        let [ours, theirs, wider] = [error, other, 0.0].map(|error| dump([1.0 + error, 2.0 - error]));
        let criteria = Criteria::new(&CompareOptions::default(), None, &StoredDump::default());
        let noise = Noise { wider: Arc::new(wider.1), factor: Noise::FACTOR };
        let partners = [(); 2].map(|()| vec![Some((0, MatchedBy::Value))]);
        let judge = NoiseJudge { noise: &noise, criteria: &criteria, partners, steps };
        let pair = [&ours.1.tensors[0], &theirs.1.tensors[0]];
        let mut row = Row {
            place: pair[0].place.clone(),
            reference: pair[1].place.clone(),
            matched_by: MatchedBy::Value,
            dtypes: (pair[0].dtype, pair[1].dtype),
            shapes: (vec![2], vec![2]),
            outcome: elements::difference(pair[0], pair[1], &criteria).unwrap(),
            drop: None,
        };
        assert!(judge.judge(&mut row, [0, 0], pair));
        let Outcome::Compared { within, .. } = row.outcome else { panic!("{row:?}") };
        within
    }

    #[test]
    fn an_error_is_near_up_to_eight_times_the_other_sides_or_that_of_rounding_once() {
        let single = 2f64.powi(-23);
        let half = 2f64.powi(-10);
        assert_eq!([0.0079, 0.0081].map(|error| is_near(error, 0.001, [single; 2])), [true, false]);
        // The numbers of this side's type are 8192 times as far apart: 8 x 8192 x 1e-6 is 0.0655.
        assert_eq!([0.065, 0.066].map(|error| is_near(error, 1e-6, [half, single])), [true, false]);
        assert_eq!([0.0079, 0.0081].map(|error| is_near(error, 0.001, [single, half])), [true, false]);
        // The root mean square of 1 and 2 is 1.5811: 8 x 0.3 x 1.5811 / 1024 is 0.003706.
        assert_eq!([0.0036, 0.0038].map(|error| is_near(error, 0.0, [half; 2])), [true, false]);
    }

    #[test]
    fn the_step_of_a_dump_is_that_of_its_coarsest_floating_point_type() {
        let of = |dtypes: &[DType]| {
            let (_root, mut dump) = dump([0.0; 2]);
            let tensor = dump.tensors.remove(0);
            dump.tensors.extend(dtypes.iter().map(|dtype| {
                let mut tensor = tensor.clone();
                tensor.dtype = Some(*dtype);
                tensor
            }));
            step(&dump)
        };
        assert_eq!(of(&[DType::F32, DType::I64]), 2f64.powi(-23));
        assert_eq!(of(&[DType::F64, DType::F16, DType::F32]), 2f64.powi(-10));
        assert_eq!(of(&[DType::Bf16, DType::F16]), 2f64.powi(-7));
        assert_eq!(of(&[DType::I8]), 2f64.powi(-52));
        assert_eq!(of(&[]), 2f64.powi(-52));
    }
}
