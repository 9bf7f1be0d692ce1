//! A number and its 95 % confidence interval.

/// The quantile of the normal distribution for 95 %.
const DEVIATIONS: f64 = 1.959_964;

/// A measured number, and the ends of its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The number.
    pub value: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end of its interval.
    pub high: f64,
}

impl Measured {
    /// Returns the median of independent samples. The ends of its interval are the samples at the ranks `n/2 +- 1.96 *
    /// sqrt(n)/2`, by the binomial distribution. Fewer than 6 samples have no such interval: their extremes replace it,
    /// although they include the median less often. Without a sample all three are NaN.
    pub fn of(samples: &[f64]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let Some(last) = sorted.len().checked_sub(1) else {
            return Self { value: f64::NAN, low: f64::NAN, high: f64::NAN };
        };
        let count = sorted.len() as f64;
        let reach = DEVIATIONS * count.sqrt() / 2.0;
        let low = (count / 2.0 - reach).floor().max(0.0) as usize;
        let high = ((count / 2.0 + reach).ceil() as usize).min(last);
        Self { value: (sorted[last / 2] + sorted[last.div_ceil(2)]) / 2.0, low: sorted[low], high: sorted[high] }
    }

    /// Returns a number that does not vary, such as the size of a file that is always the same.
    pub fn exactly(value: f64) -> Self {
        Self { value, low: value, high: value }
    }

    /// Returns the percentage of trials that had an outcome, with Wilson's score interval (E. B. Wilson, Journal of the
    /// American Statistical Association 22, 1927).
    pub fn percentage(hits: usize, trials: usize) -> Self {
        let (trials, share) = (trials as f64, hits as f64 / trials as f64);
        let square = DEVIATIONS * DEVIATIONS;
        let middle = (share + square / (2.0 * trials)) / (1.0 + square / trials);
        let half = DEVIATIONS / (1.0 + square / trials)
            * (share * (1.0 - share) / trials + square / (4.0 * trials * trials)).sqrt();
        Self { value: 100.0 * share, low: 100.0 * (middle - half).max(0.0), high: 100.0 * (middle + half).min(1.0) }
    }

    /// Returns the number in another unit.
    pub fn times(self, factor: f64) -> Self {
        let (a, b) = (self.low * factor, self.high * factor);
        Self { value: self.value * factor, low: a.min(b), high: a.max(b) }
    }

    /// Returns how far the interval extends from the ideal number.
    pub fn reach_from(self, ideal: f64) -> f64 {
        (ideal - self.low).max(self.high - ideal).max(0.0)
    }
}

/// Returns the median; NaN without a sample.
pub fn median(samples: &[f64]) -> f64 {
    Measured::of(samples).value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: u32) -> Vec<f64> {
        (1..=count).rev().map(f64::from).collect()
    }

    /// Ranks of the binomial distribution: of 15 samples the 4th and the 13th, of 101 the 41st and the 62nd.
    #[test]
    fn a_median_has_the_interval_of_the_binomial_distribution() {
        assert_eq!(Measured::of(&numbers(15)), Measured { value: 8.0, low: 4.0, high: 13.0 });
        assert_eq!(Measured::of(&numbers(101)), Measured { value: 51.0, low: 41.0, high: 62.0 });
        assert_eq!(Measured::of(&numbers(400)), Measured { value: 200.5, low: 181.0, high: 221.0 });
    }

    #[test]
    fn few_samples_have_their_extremes_and_none_has_nothing() {
        assert_eq!(Measured::of(&[3.0, 1.0]), Measured { value: 2.0, low: 1.0, high: 3.0 });
        assert_eq!(Measured::of(&numbers(5)), Measured { value: 3.0, low: 1.0, high: 5.0 });
        assert!(Measured::of(&[]).value.is_nan());
    }

    /// By hand: 2 of 100 with z = 1.959964 is 0.55 to 7.00 %; 0 of 100 reaches up to 3.70 %.
    #[test]
    fn a_percentage_has_wilsons_interval() {
        let two = Measured::percentage(2, 100);
        assert_eq!(two.value, 2.0);
        assert!((two.low - 0.550).abs() < 0.001 && (two.high - 7.001).abs() < 0.001, "{two:?}");
        let none = Measured::percentage(0, 100);
        assert!(none.low == 0.0 && (none.high - 3.699).abs() < 0.001, "{none:?}");
    }

    #[test]
    fn a_negative_factor_swaps_the_ends() {
        let measured = Measured { value: 2.0, low: 1.0, high: 4.0 };
        assert_eq!(measured.times(-2.0), Measured { value: -4.0, low: -8.0, high: -2.0 });
        assert_eq!(measured.reach_from(1.5), 2.5);
        assert_eq!(measured.reach_from(3.0), 2.0);
    }
}
