use serde::Serialize;

use crate::Rank;

/// Counts of times in buckets that grow with the time. So the median of any number of times is known to within half a
/// bucket, 0.8 %, in constant memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Histogram {
    /// The counts, indexed by [`bucket`], up to the bucket of the longest time.
    counts: Vec<u32>,
    count: u64,
}

/// The number of buckets between a time and its double.
const STEPS: u64 = 64;

impl Histogram {
    pub(super) fn add(&mut self, nanos: f64) {
        let bucket = bucket(nanos);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] = self.counts[bucket].saturating_add(1);
        self.count += 1;
    }

    /// Returns the number of times.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the median; 0 if there are no times.
    pub(super) fn median(&self) -> f64 {
        self.percentile(50.0)
    }

    /// Returns a [percentile](crate::interval) of the times, each taken as the middle of its bucket; 0 if there are
    /// no times.
    pub(super) fn percentile(&self, percent: f64) -> f64 {
        let rank = Rank::of(percent, self.count as usize);
        rank.between(self.time(rank.below as u64), self.time(rank.below as u64 + 1))
    }

    /// Returns the middle of the bucket of the time with this index among the sorted times, or of the last one.
    fn time(&self, index: u64) -> f64 {
        let (mut before, mut middle) = (0, 0.0);
        for (bucket, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            middle = (lower_bound(bucket) + lower_bound(bucket + 1)) / 2.0;
            before += u64::from(count);
            if index < before {
                break;
            }
        }
        middle
    }

    /// Returns the counts in at most [`MOST_BINS`] bins between the shortest time and the longest. The bins are as fine
    /// as this allows; those between a time and its double are equally wide.
    pub(super) fn bins(&self) -> TimeHistogram {
        let used = |count: &u32| *count > 0;
        let (Some(first), Some(last)) = (self.counts.iter().position(used), self.counts.iter().rposition(used)) else {
            return TimeHistogram::default();
        };
        let fits = |merged: &usize| last / merged - first / merged < MOST_BINS;
        let merged = (0..usize::BITS - 1).map(|power| 1usize << power).find(fits).unwrap_or(1);
        let bins = first / merged..last / merged + 1;
        let count = |bin: usize| {
            let counts = self.counts.iter().skip(bin * merged).take(merged);
            counts.map(|count| u64::from(*count)).sum()
        };
        TimeHistogram {
            bounds_ns: (bins.start..=bins.end).map(|bin| lower_bound(bin * merged)).collect(),
            counts: bins.map(count).collect(),
        }
    }
}

/// The numbers of times in a series of bins.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TimeHistogram {
    /// The bounds between the bins and around them, in nanoseconds: one more than there are bins.
    pub bounds_ns: Vec<f64>,
    /// The number of times in each bin. The lower bound belongs to the bin.
    pub counts: Vec<u64>,
}

/// The maximum number of bins of a [`TimeHistogram`].
const MOST_BINS: usize = 32;

/// Returns the bucket of a time. Up to [`STEPS`] nanoseconds a bucket is one nanosecond wide; beyond that the bits
/// after the leading one select it.
fn bucket(nanos: f64) -> usize {
    let nanos = nanos.max(0.0) as u64;
    if nanos < STEPS {
        return nanos as usize;
    }
    let doublings = u64::from(nanos.ilog2() - STEPS.ilog2());
    (doublings * STEPS + (nanos >> doublings)) as usize
}

/// Returns the shortest time of a bucket.
fn lower_bound(bucket: usize) -> f64 {
    let bucket = bucket as u64;
    if bucket < STEPS {
        return bucket as f64;
    }
    let doublings = bucket / STEPS - 1;
    ((bucket - doublings * STEPS) as f64) * (doublings as f64).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_lies_in_its_bucket_and_buckets_follow_each_other() {
        for exponent in 0..50 {
            for nanos in [1u64 << exponent, (1 << exponent) + (1 << exponent) / 3, (2 << exponent) - 1] {
                let (bucket, nanos) = (bucket(nanos as f64), nanos as f64);
                assert!(lower_bound(bucket) <= nanos && nanos < lower_bound(bucket + 1), "{nanos} in {bucket}");
            }
        }
        assert_eq!(bucket(-1.0), 0);
        assert_eq!(bucket(f64::NAN), 0);
    }

    #[test]
    fn the_median_is_within_a_hundredth_and_a_few_long_times_do_not_move_it() {
        let mut times = Histogram::default();
        (0..999).for_each(|index| times.add(20_000.0 + f64::from(index)));
        times.add(1e9);
        assert!((times.median() / 20_500.0 - 1.0).abs() < 0.01, "{}", times.median());
        assert_eq!(Histogram::default().median(), 0.0);
        assert!((times.percentile(90.0) / 20_900.0 - 1.0).abs() < 0.01, "{}", times.percentile(90.0));
        assert!((times.percentile(100.0) / 1e9 - 1.0).abs() < 0.01, "{}", times.percentile(100.0));
    }

    #[test]
    fn bins_hold_every_time_and_are_few_for_near_times_and_for_far_ones() {
        for longest in [20_000.0, 20_500.0, 40_000.0, 1e6, 1e12] {
            let mut times = Histogram::default();
            (0..500).for_each(|index| times.add(20_000.0 + (longest - 20_000.0) * f64::from(index) / 499.0));
            let TimeHistogram { bounds_ns, counts } = times.bins();
            assert_eq!((counts.iter().sum::<u64>(), bounds_ns.len()), (500, counts.len() + 1));
            assert!(counts.len() <= MOST_BINS && bounds_ns[0] <= 20_000.0 && longest < bounds_ns[counts.len()]);
            assert!(bounds_ns.is_sorted_by(|a, b| a < b), "{bounds_ns:?}");
        }
        assert_eq!(Histogram::default().bins(), TimeHistogram::default());
    }
}
