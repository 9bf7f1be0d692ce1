/// Counts of times in buckets that grow with the time, so that the median of any number of times is known to within half
/// a bucket, 0.8 %, in memory that does not grow.
#[derive(Debug, Clone, Default)]
pub(super) struct Histogram {
    /// Indexed by [`bucket`]; as long as the longest time asks for.
    counts: Vec<u32>,
    count: u64,
}

/// Buckets between a time and its double.
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

    /// Returns the middle of the bucket in which the median lies; 0 where there is no time.
    pub(super) fn median(&self) -> f64 {
        let mut before = 0;
        for (bucket, &count) in self.counts.iter().enumerate() {
            before += u64::from(count);
            if before * 2 >= self.count && count > 0 {
                return (lower_bound(bucket) + lower_bound(bucket + 1)) / 2.0;
            }
        }
        0.0
    }
}

/// Up to [`STEPS`] nanoseconds a bucket is a nanosecond; from there on the bits after the leading one count.
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
    }
}
