use std::cell::RefCell;
use std::collections::HashMap;

use crate::compare::criteria::Criteria;
use crate::compare::{Outcome, Summary, elements};
use crate::{IndexStatistics, StoredDump, StoredTensor};

/// Finds which tensors of two dumps have the same numbers, in any shape.
pub(in crate::compare) struct Agreement<'a> {
    tensors: &'a StoredDump,
    reference: &'a StoredDump,
    criteria: &'a Criteria,
    /// Statistics of both sides, where they could be read.
    known: [Vec<Option<IndexStatistics>>; 2],
    found: RefCell<HashMap<(usize, usize), bool>>,
}

/// How far statistics of tensors that agree may lie apart, as a share of the largest element.
const NEAR: f64 = 0.02;

impl<'a> Agreement<'a> {
    /// Prepares the comparison. This reads the tensors that have no statistics yet.
    pub fn new(tensors: &'a StoredDump, reference: &'a StoredDump, criteria: &'a Criteria) -> Self {
        let known = [tensors, reference].map(|dump| dump.tensors.iter().map(statistics).collect());
        Self { tensors, reference, criteria, known, found: RefCell::default() }
    }

    /// Returns whether two tensors have the same number of elements, and the same elements within the tolerance.
    pub fn of(&self, index: usize, other: usize) -> bool {
        if !self.is_near(index, other) {
            return false;
        }
        if let Some(found) = self.found.borrow().get(&(index, other)) {
            return *found;
        }
        let (tensor, reference) = (&self.tensors.tensors[index], &self.reference.tensors[other]);
        let outcome = elements::difference(tensor, reference, self.criteria);
        let agrees = match outcome {
            Ok(Outcome::Compared { within, .. }) => within,
            Ok(Outcome::Summarised(summary)) => summary != Summary::Different,
            _ => false,
        };
        self.found.borrow_mut().insert((index, other), agrees);
        agrees
    }

    /// Returns whether two tensors have the same number of elements.
    pub fn is_of_size(&self, index: usize, other: usize) -> bool {
        count(&self.tensors.tensors[index]) == count(&self.reference.tensors[other])
    }

    /// Returns whether the statistics allow that the numbers agree.
    fn is_near(&self, index: usize, other: usize) -> bool {
        let (tensor, reference) = (&self.tensors.tensors[index], &self.reference.tensors[other]);
        let is_float = |tensor: &StoredTensor| tensor.dtype.is_some_and(|dtype| dtype.is_float());
        if !self.is_of_size(index, other) || is_float(tensor) != is_float(reference) {
            return false;
        }
        let (Some(ours), Some(theirs)) = (&self.known[0][index], &self.known[1][other]) else { return true };
        let extremes = [theirs.min, theirs.max].into_iter().flatten();
        let largest = extremes.fold(0.0, |largest: f64, extreme| largest.max(extreme.abs()));
        let near = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => (one - other).abs() <= NEAR * largest + 1e-6,
            (one, other) => one.is_none() == other.is_none(),
        };
        (ours.nan, ours.inf) == (theirs.nan, theirs.inf) && near(ours.min, theirs.min) && near(ours.max, theirs.max)
    }
}

fn statistics(tensor: &StoredTensor) -> Option<IndexStatistics> {
    tensor.noted.clone().or_else(|| tensor.summary().ok())
}

fn count(tensor: &StoredTensor) -> usize {
    tensor.shape.iter().product()
}
