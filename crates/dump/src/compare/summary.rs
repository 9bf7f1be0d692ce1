use opscope_tensor::Tolerance;

use crate::IndexStatistics;

/// What hashes and statistics show about two tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Summary {
    /// Their hashes are equal, so their data is the same.
    Same,
    /// Their hashes differ, but their statistics agree within the tolerance. Whether every element does is not known.
    Alike,
    /// Their statistics are further apart than they can be if all elements are within the tolerance.
    Different,
}

impl Summary {
    /// Compares the hashes and statistics of two tensors of the same shape.
    pub(super) fn of(
        tensor: &IndexStatistics,
        reference: &IndexStatistics,
        same_type: bool,
        tolerance: &Tolerance,
    ) -> Self {
        if same_type && tensor.xxh3 == reference.xxh3 {
            return Self::Same;
        }
        let extremes = [reference.min, reference.max].into_iter().flatten();
        let largest = extremes.fold(0.0, |largest: f64, extreme| largest.max(extreme.abs()));
        // If no element is further apart than this, neither is the smallest, the largest or the mean. A mean is a sum
        // of many elements, which is rounded.
        let most = tolerance.absolute + (tolerance.relative + tolerance.of_max) * largest + 1e-12 * largest;
        let near = |ours: Option<f64>, theirs: Option<f64>| match (ours, theirs) {
            (Some(ours), Some(theirs)) => (ours - theirs).abs() <= most,
            (ours, theirs) => ours.is_none() == theirs.is_none(),
        };
        let agree = (tensor.nan, tensor.inf) == (reference.nan, reference.inf)
            && near(tensor.min, reference.min)
            && near(tensor.max, reference.max)
            && near(tensor.mean, reference.mean);
        if agree { Self::Alike } else { Self::Different }
    }
}
