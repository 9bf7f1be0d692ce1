use super::criteria::Criterion;
use crate::IndexStatistics;

/// The result of comparing the hashes and statistics of two tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Summary {
    /// Their hashes are equal, so their data is the same.
    Same,
    /// Their hashes differ, but their statistics agree within the tolerance. It is not known whether every element
    /// does.
    Alike,
    /// Their statistics are further apart than possible if all elements were within the tolerance, or if the noise were
    /// low enough.
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
        if same_type && tensor.xxh3.is_some() && tensor.xxh3 == reference.xxh3 {
            return Self::Same;
        }
        let extremes = [reference.min, reference.max].into_iter().flatten();
        let largest = extremes.fold(0.0, |largest: f64, extreme| largest.max(extreme.abs()));
        // The maximum distances of the means and of the extremes. A mean is computed from a rounded sum of many
        // elements.
        let (mean, extreme) = match criterion.least_sqnr {
            // If no pair of elements is further apart than this, neither is any of the three.
            None => {
                let tolerance = &criterion.tolerance;
                let most = tolerance.absolute + (tolerance.relative + tolerance.of_max) * largest;
                (most, most)
            }
            // The signal's root mean square is at most the largest element. With the ratio this bounds the root mean
            // square of the noise, which is also a bound of its mean. At most, a single element has all of the noise.
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
