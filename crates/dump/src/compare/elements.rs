//! Comparing the elements of two tensors of dumps.

use std::io::{self, Read};

use opscope_tensor::DifferenceAccumulator;

use super::criteria::Criteria;
use super::{Outcome, Summary};
use crate::StoredTensor;

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
