use super::criteria::Criterion;
use crate::IndexStatistics;

/// What hashes and statistics show about two tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Summary {
    /// Their hashes are equal, so their data is the same.
    Same,
    /// Their hashes differ, but their statistics agree within the tolerance. Whether every element does is not known.
    Alike,
    /// Their statistics are further apart than they can be if all elements are within the tolerance, or if the noise is as
    /// small as it has to be.
    Different,
}

impl Summary {
    /// Compares the hashes and statistics of two tensors of the same shape, which have this many elements.
    pub(super) fn of(
        tensor: &IndexStatistics,
        reference: &IndexStatistics,
        same_type: bool,
        elements: usize,
        criterion: &Criterion,
    ) -> Self {
        if same_type && tensor.xxh3 == reference.xxh3 {
            return Self::Same;
        }
        let extremes = [reference.min, reference.max].into_iter().flatten();
        let largest = extremes.fold(0.0, |largest: f64, extreme| largest.max(extreme.abs()));
        // How far the mean and the extremes can be apart. A mean is a sum of many elements, which is rounded.
        let (mean, extreme) = match criterion.least_sqnr {
            // If no element is further apart than this, neither is any of the three.
            None => {
                let tolerance = &criterion.tolerance;
                let most = tolerance.absolute + (tolerance.relative + tolerance.of_max) * largest;
                (most, most)
            }
            // The signal's root mean square is the largest element at most. The ratio gives the noise's, which no mean of it
            // exceeds, and one element has all of the noise at most.
            Some(least) => {
                let noise = largest * 10f64.powf(-least / 20.0);
                (noise, noise * (elements as f64).sqrt())
            }
        };
        let near = |ours: Option<f64>, theirs: Option<f64>, most: f64| match (ours, theirs) {
            (Some(ours), Some(theirs)) => (ours - theirs).abs() <= most + 1e-12 * largest,
            (ours, theirs) => ours.is_none() == theirs.is_none(),
        };
        let agree = (tensor.nan, tensor.inf) == (reference.nan, reference.inf)
            && near(tensor.min, reference.min, extreme)
            && near(tensor.max, reference.max, extreme)
            && near(tensor.mean, reference.mean, mean);
        if agree { Self::Alike } else { Self::Different }
    }
}
