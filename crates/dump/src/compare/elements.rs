//! Comparing two tensors of dumps: their elements, or their hashes and statistics.

use std::io::{self, Read};

use opscope_tensor::DifferenceAccumulator;

use super::Outcome;
use super::criteria::{Criteria, Criterion};
use crate::{IndexStatistics, StoredTensor};

/// The number of elements that are read from each side at once. They stay in the second-level cache until they are
/// compared.
const ELEMENTS: usize = 64 << 10;

/// Compares the samples that both tensors have. They differ only in their first dimension, the batch.
pub(super) fn first_samples(
    tensor: &StoredTensor,
    reference: &StoredTensor,
    criteria: &Criteria,
) -> io::Result<Outcome> {
    let rest = |tensor: &StoredTensor| tensor.shape.split_first().map(|(_, rest)| rest.to_vec());
    if rest(tensor).is_none() || rest(tensor) != rest(reference) {
        let shapes = format!("{:?} and {:?}", tensor.shape, reference.shape);
        return Err(io::Error::other(format!("the shapes {shapes} differ in more than the batch")));
    }
    if tensor.is_summary() || reference.is_summary() {
        return Err(io::Error::other("statistics of batches of two sizes cannot be compared"));
    }
    compared(tensor, reference, tensor.elements()?.min(reference.elements()?), criteria)
}

/// Compares the elements of two tensors that have the same number of elements.
pub(super) fn difference(tensor: &StoredTensor, reference: &StoredTensor, criteria: &Criteria) -> io::Result<Outcome> {
    let unknown = || io::Error::other("the type of its elements is not known");
    let types = (tensor.dtype.ok_or_else(unknown)?, reference.dtype.ok_or_else(unknown)?);
    let criterion = criteria.of(&tensor.place, &reference.place, types);
    if tensor.is_summary() || reference.is_summary() {
        let (ours, theirs) = (tensor.summary()?, reference.summary()?);
        let elements = tensor.elements()?;
        return Ok(Outcome::Summarised(Summary::of(&ours, &theirs, types.0 == types.1, elements, &criterion)));
    }
    compared(tensor, reference, tensor.elements()?, criteria)
}

/// Compares this many elements of two tensors.
fn compared(
    tensor: &StoredTensor,
    reference: &StoredTensor,
    elements: usize,
    criteria: &Criteria,
) -> io::Result<Outcome> {
    let unknown = || io::Error::other("the type of its elements is not known");
    let types = (tensor.dtype.ok_or_else(unknown)?, reference.dtype.ok_or_else(unknown)?);
    let criterion = criteria.of(&tensor.place, &reference.place, types);
    let accumulator = DifferenceAccumulator::new(types.0, types.1, elements, criterion.tolerance.relative);
    let mut accumulator = accumulator.map_err(io::Error::other)?;
    let (mut left, mut right) = (tensor.data()?, reference.data()?);
    let bytes_of = |dtype: opscope_tensor::DType, elements| dtype.bytes_of(elements).unwrap_or(0);
    let most = elements.min(ELEMENTS);
    let mut buffers = (vec![0; bytes_of(types.0, most)], vec![0; bytes_of(types.1, most)]);
    let mut rest: usize = elements;
    while rest > 0 {
        let now = rest.min(ELEMENTS);
        let (x, y) = (&mut buffers.0[..bytes_of(types.0, now)], &mut buffers.1[..bytes_of(types.1, now)]);
        left.read_exact(x)?;
        right.read_exact(y)?;
        accumulator.update(x, y);
        rest -= now;
    }
    let difference = accumulator.finish();
    Ok(Outcome::Compared { difference, within: criterion.is_met(&difference) })
}

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
        let near = |of: fn(&IndexStatistics) -> Option<f64>, most: f64| near(of(tensor), of(reference), most);
        let agree = match (is_partial(tensor, elements), is_partial(reference, elements)) {
            (true, false) => may_be(tensor, reference, near, extreme),
            (false, true) => may_be(reference, tensor, near, extreme),
            _ => {
                (tensor.nan, tensor.inf) == (reference.nan, reference.inf)
                    && near(|of| of.min, extreme)
                    && near(|of| of.max, extreme)
                    && near(|of| of.mean, mean)
            }
        };
        if agree { Self::Alike } else { Self::Different }
    }
}

/// Returns whether statistics say only that there are NaN or infinite elements: an extreme of the finite ones is not
/// known although there are some. Imported statistics may be so.
fn is_partial(statistics: &IndexStatistics, elements: usize) -> bool {
    let not_finite = statistics.nan + statistics.inf;
    let is_unknown = statistics.min.is_none() || statistics.max.is_none();
    is_unknown && not_finite > 0 && not_finite < elements as u64
}

/// Returns whether partial statistics may be those of a tensor. Their counts mean at least as many, and where there is
/// NaN, they do not say whether there are infinite elements.
fn may_be(
    partial: &IndexStatistics,
    whole: &IndexStatistics,
    near: impl Fn(fn(&IndexStatistics) -> Option<f64>, f64) -> bool,
    most: f64,
) -> bool {
    let counts = match partial.nan {
        0 => whole.nan == 0 && whole.inf >= partial.inf,
        nan => whole.nan >= nan,
    };
    counts && (partial.min.is_none() || near(|of| of.min, most)) && (partial.max.is_none() || near(|of| of.max, most))
}

#[cfg(test)]
mod tests {
    use opscope_tensor::{DType, Tolerance};

    use super::*;

    fn of(tensor: &IndexStatistics, reference: &IndexStatistics) -> Summary {
        let criterion = Criterion { tolerance: Tolerance::of(DType::F32), least_sqnr: None };
        let one = Summary::of(tensor, reference, true, 4, &criterion);
        let other = Summary::of(reference, tensor, true, 4, &criterion);
        assert_eq!(one, other);
        one
    }

    #[test]
    fn statistics_that_only_say_that_something_is_not_finite_are_alike_where_that_may_be() {
        use Summary::{Alike, Different};
        let statistics = |min, max, nan, inf| IndexStatistics { xxh3: None, min, max, mean: None, nan, inf };
        let all = |nan, inf| statistics(Some(-1.0), Some(2.0), nan, inf);
        // What msprobe says of a tensor with NaN, and of one with infinity.
        let with_nan = statistics(None, None, 1, 0);
        let with_infinity = statistics(Some(-1.0), None, 0, 1);
        for (partial, whole, expected) in [
            (&with_nan, all(2, 0), Alike),
            (&with_nan, all(1, 1), Alike),
            (&with_nan, all(0, 1), Different),
            (&with_nan, all(0, 0), Different),
            (&with_nan, statistics(None, None, 4, 0), Alike),
            (&with_infinity, all(0, 2), Alike),
            (&with_infinity, statistics(Some(-3.0), Some(2.0), 0, 2), Different),
            (&with_infinity, all(1, 1), Different),
            (&with_infinity, all(0, 0), Different),
            (&with_infinity, statistics(Some(-1.0), None, 0, 1), Alike),
            (&with_infinity, statistics(None, None, 1, 0), Different),
        ] {
            assert_eq!(of(partial, &whole), expected, "{partial:?} {whole:?}");
        }
        // The mean of what is partial is not compared, and that of others is.
        let mean = |mean| IndexStatistics { mean: Some(mean), ..all(0, 0) };
        assert_eq!(of(&mean(0.0), &mean(1.0)), Different);
        assert_eq!(of(&with_nan, &IndexStatistics { mean: Some(1.0), ..all(1, 0) }), Alike);
    }
}
