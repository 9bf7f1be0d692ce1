use opscope_tensor::Tolerance;

use crate::IndexStatistics;

/// What hash and statistics show of two tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Summary {
    /// Their data has the same hash: it is the same.
    Same,
    /// Their hashes differ and their statistics agree, so far as the tolerance asks. Whether every element does cannot be
    /// told.
    Alike,
    /// Their statistics are further apart than those of tensors within the tolerance can be.
    Different,
}

impl Summary {
    /// Compares what is known of two tensors of the same shape.
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
        // No element may be further apart than this, and so neither may the smallest, the largest or the mean be. Means
        // are sums of many elements, which are rounded.
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
