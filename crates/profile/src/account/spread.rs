//! Running sums: of a stream of numbers, of the user's ranges, and of the memory that runs hold.

use std::collections::HashMap;

use opscope_trace::{AllocationOperation, MarkerOperation};

use super::histogram::Histogram;
use super::{RangeTimes, TensorMemoryUse};
use crate::Recording;
use crate::recording::{AllocationFact, MarkerFact};

/// The count, sum, extremes and variance of a stream of numbers (Welford's method, which keeps no number).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub count: u64,
    pub total: f64,
    pub min: f64,
    pub max: f64,
    mean: f64,
    squares: f64,
}

impl Default for Spread {
    fn default() -> Self {
        Self { count: 0, total: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY, mean: 0.0, squares: 0.0 }
    }
}

impl Spread {
    pub(crate) fn add(&mut self, number: f64) {
        self.count += 1;
        self.total += number;
        self.min = self.min.min(number);
        self.max = self.max.max(number);
        let distance = number - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (number - self.mean);
    }

    /// Returns the arithmetic mean; 0 if there are no numbers.
    pub(crate) fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.total / self.count as f64 }
    }

    /// Returns the population variance; 0 if there are no numbers.
    pub(crate) fn variance(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.squares / self.count as f64 }
    }
}

/// The running sums of the user's ranges, by the numbers of their names.
#[derive(Default)]
pub(super) struct Ranges {
    by_name: HashMap<u32, (Spread, Histogram)>,
}

impl Ranges {
    pub(super) fn add(&mut self, recording: &Recording, marker: &MarkerFact) {
        if marker.operation != MarkerOperation::Mark {
            let nanos = recording.calibration().nanos(marker.span.start, marker.span.end);
            let (spread, histogram) = self.by_name.entry(marker.name).or_default();
            spread.add(nanos);
            histogram.add(nanos);
        }
    }

    /// Returns the table, sorted by time.
    pub(super) fn finish(self, recording: &Recording) -> Vec<RangeTimes> {
        let row = |(name, (spread, histogram)): (u32, (Spread, Histogram))| RangeTimes {
            range: recording.marker_name(name),
            count: spread.count,
            total_ns: spread.total,
            mean_ns: spread.mean(),
            median_ns: histogram.median().clamp(spread.min, spread.max),
        };
        let mut rows: Vec<_> = self.by_name.into_iter().map(row).collect();
        rows.sort_by(|a, b| b.total_ns.total_cmp(&a.total_ns).then_with(|| a.range.cmp(&b.range)));
        rows
    }
}

/// The running sums of the memory that runs hold for tensors. A run allocates and frees on one thread, so each thread's
/// records are in chronological order.
#[derive(Default)]
pub(crate) struct TensorMemorySums {
    held: HashMap<u32, u64>,
    seen: TensorMemoryUse,
}

impl TensorMemorySums {
    /// Adds an allocation or a release, and returns the bytes that the run on its thread then holds.
    pub(crate) fn add(&mut self, fact: &AllocationFact) -> u64 {
        let held = self.held.entry(fact.thread).or_default();
        match fact.operation {
            AllocationOperation::Allocate => {
                self.seen.allocations += 1;
                *held = held.saturating_add(fact.bytes);
            }
            AllocationOperation::Free => *held = held.saturating_sub(fact.bytes),
        }
        self.seen.peak_bytes = self.seen.peak_bytes.max(*held);
        *held
    }

    /// Returns the sums, or `None` if there was no allocation.
    pub(super) fn finish(self) -> Option<TensorMemoryUse> {
        (self.seen.allocations > 0).then_some(self.seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variance_is_that_of_the_whole_population() {
        let mut spread = Spread::default();
        [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into_iter().for_each(|number| spread.add(number));
        assert_eq!((spread.count, spread.mean(), spread.variance()), (8, 5.0, 4.0));
        assert_eq!((spread.min, spread.max, spread.total), (2.0, 9.0, 40.0));
        assert_eq!((Spread::default().mean(), Spread::default().variance()), (0.0, 0.0));
    }
}
