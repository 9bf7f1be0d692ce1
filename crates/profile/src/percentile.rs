//! The one definition of a percentile.

/// The rank of a percentile among sorted numbers, as in numpy's `percentile` with the default method (linear): it is
/// between the two numbers around the index `(n - 1) * percent / 100`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rank {
    /// The index of the number below.
    pub below: usize,
    /// The fraction of the way from there to the next number, from 0 to 1.
    pub fraction: f64,
}

impl Rank {
    /// Returns the rank of a percentile among `count` numbers.
    pub fn of(percent: f64, count: usize) -> Self {
        let index = count.saturating_sub(1) as f64 * (percent / 100.0);
        Self { below: index.floor() as usize, fraction: index.fract() }
    }

    /// Returns the percentile between the number below and the next one. It is computed from the nearer one.
    pub fn between(self, low: f64, high: f64) -> f64 {
        let step = high - low;
        if self.fraction >= 0.5 { high - step * (1.0 - self.fraction) } else { low + step * self.fraction }
    }
}

/// Returns a percentile of sorted numbers; 0 if there are none.
pub fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let rank = Rank::of(percent, sorted.len());
    rank.between(sorted[rank.below.min(last)], sorted[(rank.below + 1).min(last)])
}

/// Returns whether `count` numbers are enough for a percentile, so that on average at least one of them is beyond it:
/// 10 for the 90th, 100 for the 99th and 1,000 for the 99.9th. Texts for people show no other percentiles.
pub fn carries_percentile(count: usize, percent: f64) -> bool {
    count as f64 * (100.0 - percent) >= 100.0 - 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `numpy.percentile([0.1, 0.5, 0.2, 1.7, 0.9, 0.4, 3.3], p)` for 0, 50, 90, 95, 99, 99.9 and 100.
    #[test]
    fn percentiles_are_numpys() {
        let mut numbers = [0.1, 0.5, 0.2, 1.7, 0.9, 0.4, 3.3];
        numbers.sort_by(f64::total_cmp);
        let found = [0.0, 50.0, 90.0, 95.0, 99.0, 99.9, 100.0].map(|percent| percentile(&numbers, percent));
        let expected = [0.1, 0.5, 2.3400000000000007, 2.8199999999999985, 3.203999999999999, 3.290400000000001, 3.3];
        assert_eq!(found, expected);
        assert_eq!((percentile(&[], 50.0), percentile(&[7.0], 99.0)), (0.0, 7.0));
    }

    #[test]
    fn a_percentile_is_carried_from_the_number_on_of_which_one_lies_beyond() {
        for (percent, least) in [(50.0, 2), (90.0, 10), (95.0, 20), (99.0, 100), (99.9, 1_000)] {
            assert!(carries_percentile(least, percent) && !carries_percentile(least - 1, percent), "{percent}");
        }
    }
}
