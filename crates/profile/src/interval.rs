//! Medians and their confidence intervals, for times that depend on one another.
//!
//! Successive runs are not independent: other programs, the clock frequency and the caches slow down many runs in a
//! row. An interval that ignores this is too narrow. Here the number of runs `n` is divided by their correlation time
//! `tau`, which gives the number of independent runs with the same information.
//!
//! - *The interval of a median* consists of the times that have the median between them with a probability of 95 %,
//!   whatever the distribution. These are the times at the ranks `n/2 +- z * sqrt(n * tau) / 2` with `z` = 1.96 (R. S.
//!   Woodruff, "Confidence Intervals for Medians and Other Position Measures", Journal of the American Statistical
//!   Association 47, 1952, with `tau` as the design effect; `tau` = 1 is the well-known interval by the binomial
//!   distribution).
//! - *The correlation time* is that of a run being above or below the median, because the median depends on nothing
//!   else: the variance of sums over `b` successive runs, divided by `b` and by the variance of one, which grows with
//!   `b` until it is `tau` (H. Flyvbjerg, H. G. Petersen, "Error estimates on averages of correlated data", Journal of
//!   Chemical Physics 91, 1989). The largest value over all `b` counts, up to an eighth of the runs, multiplied by
//!   `(1 + 2.5 / (k - 1))^2` for `k` sums. If a measurement is shorter than about 20 correlation times, intervals are
//!   still too narrow: in simulations they then include the true value nine times out of ten.
//! - *The interval of a difference* has, at each end, the square root of the sum of the squared distances of both
//!   medians to the ends of their intervals (D. G. Bonett, R. M. Price, "Statistical Inference for a Linear Function of
//!   Medians", Psychological Methods 7, 2002; G. Y. Zou, A. Donner, Statistics in Medicine 27, 2008, for intervals that
//!   are not symmetric).
//!
//! The one definition of a percentile.

use serde::Serialize;

/// The quantile of the normal distribution for 95 %.
const DEVIATIONS: f64 = 1.959_964;
/// The minimum number of independent samples for an interval. The extremes of 6 samples include the median with a
/// probability of 97 %.
const LEAST_SAMPLES: f64 = 6.0;
/// The minimum number of blocks for the variance of their sums.
const LEAST_BLOCKS: usize = 8;
/// The minimum time for which other programs and the machine slow down runs, if they do.
const CORRELATED_NS: f64 = 100e6;

/// A median and its 95 % confidence interval, in the unit of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MedianEstimate {
    /// The median.
    pub median: f64,
    /// The ends of the interval; `None` if the samples amount to fewer than 6 independent ones.
    pub interval: Option<(f64, f64)>,
    /// The number of samples.
    pub samples: usize,
    /// The number of independent samples with the same information.
    pub independent: f64,
}

impl MedianEstimate {
    /// Estimates the median of samples in the order in which they were taken. `correlated` is the minimum number of
    /// successive samples that count as one; 1 to derive it only from the samples. Returns `None` if there are no
    /// samples.
    pub fn of(samples: &[f64], correlated: f64) -> Option<Self> {
        let count = samples.len();
        if count == 0 {
            return None;
        }
        let mut sorted = samples.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0;
        let time = correlation_time(samples, median).max(correlated).max(1.0);
        let independent = count as f64 / time;
        let half_width = DEVIATIONS * (count as f64 * time).sqrt() / 2.0;
        let low = ((count as f64 / 2.0 - half_width).floor() as usize).min(count - 1);
        let high = ((count as f64 / 2.0 + half_width).ceil() as usize).min(count - 1);
        let interval = (independent >= LEAST_SAMPLES).then(|| (sorted[low], sorted[high]));
        Some(Self { median, interval, samples: count, independent })
    }

    /// Returns a median without an interval.
    pub fn without_interval(median: f64) -> Self {
        Self { median, interval: None, samples: 0, independent: 0.0 }
    }

    /// Estimates the median time of an operator in the runs that executed it. `times` has a number for each run, 0 if
    /// it was not executed. `runs` are the times of successive runs in nanoseconds, each of which represents `every`
    /// runs. Runs within 100 ms count as one, even if the times do not show that they depend on one another.
    pub fn of_runs(times: &[f64], runs: &[f64], every: u64) -> Option<Self> {
        let (mut now, mut last, mut independent) = (0.0, 0.0, 0.0);
        let mut samples = Vec::with_capacity(times.len());
        for (time, run) in times.iter().zip(runs) {
            now += run * every as f64;
            if *time > 0.0 {
                independent += ((now - last) / CORRELATED_NS).min(1.0);
                last = now;
                samples.push(*time);
            }
        }
        Self::of(&samples, samples.len() as f64 / independent)
    }

    /// Estimates the median of the total time of several operators, in the runs that executed any of them. As
    /// [`of_runs`](Self::of_runs), with the times of each operator.
    pub fn of_sums<'t>(operators: impl IntoIterator<Item = &'t [f32]>, runs: &[f64], every: u64) -> Option<Self> {
        let mut sums = vec![0.0; runs.len()];
        for times in operators {
            sums.iter_mut().zip(times).for_each(|(sum, time)| *sum += f64::from(*time));
        }
        Self::of_runs(&sums, runs, every)
    }

    /// Returns the 95 % confidence interval of the difference of another median and this one: `other - self`. `None` if
    /// one of them has no interval.
    pub fn difference_to(&self, other: &Self) -> Option<(f64, f64)> {
        let ((low, high), (other_low, other_high)) = (self.interval?, other.interval?);
        let difference = other.median - self.median;
        let below = (other.median - other_low).hypot(high - self.median);
        let above = (other_high - other.median).hypot(self.median - low);
        Some((difference - below, difference + above))
    }

    /// Returns the 95 % confidence interval of the ratio of another median and this one: `other / self`, which is the
    /// interval of the difference of their logarithms. `None` if one of them has no interval, or a time is not above 0.
    pub fn ratio_to(&self, other: &Self) -> Option<(f64, f64)> {
        let (low, high) = self.logarithm()?.difference_to(&other.logarithm()?)?;
        Some((low.exp(), high.exp()))
    }

    /// Returns the estimate with an interval that also includes the medians between `least` and `most` times as long.
    pub fn including(self, (least, most): (f64, f64)) -> Self {
        let interval = self.interval.map(|(low, high)| (low.min(low * least), high.max(high * most)));
        Self { interval, ..self }
    }

    fn logarithm(&self) -> Option<Self> {
        let (low, high) = self.interval?;
        let median = self.median.ln();
        (low > 0.0 && high.is_finite()).then(|| Self { median, interval: Some((low.ln(), high.ln())), ..*self })
    }
}

/// Returns the 95 % confidence interval of the median of samples in the order in which they were taken. `None` if they
/// amount to fewer than 6 independent ones.
pub fn median_interval(samples: &[f64]) -> Option<(f64, f64)> {
    MedianEstimate::of(samples, 1.0)?.interval
}

/// Returns the median, which for an even count is the mean of the two in the middle; 0 if there are no numbers. Changes
/// their order.
pub(crate) fn median(numbers: &mut [f64]) -> f64 {
    if numbers.is_empty() {
        return 0.0;
    }
    let even = numbers.len().is_multiple_of(2);
    let (below, &mut upper, _) = numbers.select_nth_unstable_by(numbers.len() / 2, f64::total_cmp);
    let lower = if even { below.iter().copied().max_by(f64::total_cmp).unwrap_or(upper) } else { upper };
    (lower + upper) / 2.0
}

/// Returns how many successive samples have as much information about the median as one independent sample; at least 1.
fn correlation_time(samples: &[f64], median: f64) -> f64 {
    /// The variance of a sample that is as often above the median as below it.
    const ONE: f64 = 0.25;
    let side = |sample: &f64| match sample.partial_cmp(&median) {
        Some(std::cmp::Ordering::Less) => -0.5,
        Some(std::cmp::Ordering::Greater) => 0.5,
        _ => 0.0,
    };
    let mut sums: Vec<f64> = samples.iter().map(side).collect();
    let (mut size, mut time) = (1.0, 1.0_f64);
    while sums.len() >= 2 * LEAST_BLOCKS {
        sums = sums.chunks_exact(2).map(|pair| pair[0] + pair[1]).collect();
        size *= 2.0;
        let mean = sums.iter().sum::<f64>() / sums.len() as f64;
        let squares: f64 = sums.iter().map(|sum| (sum - mean).powi(2)).sum();
        // The variance of few sums is uncertain. The factor was found by simulation.
        let others = (sums.len() - 1) as f64;
        time = time.max(squares / others / size / ONE * (1.0 + 2.5 / others).powi(2));
    }
    time
}

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

    /// Pseudo-random numbers: the upper bits of a linear congruential generator (Knuth's MMIX).
    struct Numbers(u64);

    impl Numbers {
        /// Returns a number between 0 and 1.
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }

        /// Returns a normally distributed number (Box and Muller).
        fn normal(&mut self) -> f64 {
            let (radius, angle) = ((-2.0 * (1.0 - self.uniform()).ln()).sqrt(), std::f64::consts::TAU * self.uniform());
            radius * angle.cos()
        }

        /// Returns times with a median of 1, each of which depends on the previous one by `correlation`. The standard
        /// deviation of their logarithms is 5 %.
        fn times(&mut self, count: usize, correlation: f64) -> Vec<f64> {
            let mut state = self.normal();
            let mut next = || {
                state = correlation * state + (1.0 - correlation * correlation).sqrt() * self.normal();
                (0.05 * state).exp()
            };
            (0..count).map(|_| next()).collect()
        }

        /// Returns times of a machine on which another program runs now and then: a quarter of all runs, in bursts of
        /// 40 on average, take 45 % longer.
        fn times_with_bursts(&mut self, count: usize) -> Vec<f64> {
            let mut slow = false;
            let mut next = || {
                slow = self.uniform() < if slow { 1.0 - 1.0 / 40.0 } else { 1.0 / 120.0 };
                (1.0 + 0.01 * self.normal()) * if slow { 1.45 } else { 1.0 }
            };
            (0..count).map(|_| next()).collect()
        }
    }

    /// Returns for how many of `pairs` pairs the interval of the ratio includes 1.
    fn covered(pairs: usize, mut times: impl FnMut() -> Vec<f64>) -> usize {
        let mut estimate = || MedianEstimate::of(&times(), 1.0).unwrap();
        let mut covers = || estimate().ratio_to(&estimate()).is_some_and(|(low, high)| low <= 1.0 && 1.0 <= high);
        (0..pairs).filter(|_| covers()).count()
    }

    #[test]
    fn the_interval_includes_the_true_ratio_also_where_runs_depend_on_one_another() {
        const PAIRS: usize = 400;
        let mut numbers = Numbers(1);
        for (correlation, runs) in [(0.0, 1_000), (0.5, 1_000), (0.9, 1_000), (0.98, 4_000)] {
            let covered = covered(PAIRS, || numbers.times(runs, correlation));
            // 95 %, minus two standard deviations for 400 pairs.
            assert!(covered * 1_000 >= PAIRS * 928, "correlation {correlation}: {covered} of {PAIRS}");
        }
        let covered = covered(PAIRS, || numbers.times_with_bursts(4_000));
        assert!(covered * 1_000 >= PAIRS * 928, "bursts: {covered} of {PAIRS}");
    }

    #[test]
    fn the_interval_of_independent_runs_would_miss_the_ratio_of_dependent_ones() {
        let mut numbers = Numbers(2);
        let mut narrow = || {
            let times = numbers.times(1_000, 0.98);
            let estimate = MedianEstimate::of(&times, 1.0).unwrap();
            assert!(estimate.independent < 100.0, "{}", estimate.independent);
            let mut sorted = times;
            sorted.sort_unstable_by(f64::total_cmp);
            MedianEstimate { interval: Some((sorted[469], sorted[531])), ..estimate }
        };
        let includes = |(low, high): (f64, f64)| low <= 1.0 && 1.0 <= high;
        let covered = (0..200).filter(|_| narrow().ratio_to(&narrow()).is_some_and(includes)).count();
        assert!(covered < 100, "the test above shows nothing: {covered} of 200");
    }

    #[test]
    fn a_run_that_takes_a_fifth_longer_is_found_also_where_runs_depend_on_one_another() {
        let mut numbers = Numbers(3);
        for correlation in [0.0, 0.9] {
            let mut estimate = |factor: f64| {
                let times: Vec<f64> = numbers.times(1_000, correlation).iter().map(|time| time * factor).collect();
                MedianEstimate::of(&times, 1.0).unwrap()
            };
            let mut found =
                || estimate(1.0).ratio_to(&estimate(1.2)).is_some_and(|(low, high)| low > 1.05 && high < 1.4);
            assert_eq!((0..50).filter(|_| found()).count(), 50, "correlation {correlation}");
        }
    }

    #[test]
    fn an_interval_of_independent_samples_is_that_of_the_binomial_distribution() {
        // In this order, neighbours are on both sides of the median.
        let times: Vec<f64> = (0..1_000).map(|index| f64::from(index * 617 % 1_000)).collect();
        let estimate = MedianEstimate::of(&times, 1.0).unwrap();
        assert_eq!((estimate.median, estimate.interval), (499.5, Some((469.0, 531.0))));
        assert_eq!((estimate.samples, estimate.independent), (1_000, 1_000.0));
    }

    #[test]
    fn too_few_samples_have_a_median_and_no_interval() {
        assert_eq!(MedianEstimate::of(&[], 1.0), None);
        assert_eq!(median_interval(&[1.0; 5]), None);
        let correlated = MedianEstimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 2.0).unwrap();
        assert_eq!((correlated.median, correlated.interval, correlated.independent), (4.0, None, 3.5));
    }

    #[test]
    fn runs_within_a_tenth_of_a_second_count_as_one() {
        let mut numbers = Numbers(3);
        let mut independent = |count: usize, nanos: f64, is_executed: fn(usize) -> bool| {
            let runs = vec![nanos; count];
            let times: Vec<f64> =
                (0..count).map(|run| if is_executed(run) { numbers.uniform() + 1.0 } else { 0.0 }).collect();
            MedianEstimate::of_runs(&times, &runs, 1).map_or(0.0, |estimate| estimate.independent.round())
        };
        assert_eq!(independent(2_000, 1e6, |_| true), 20.0);
        // The result is in the thousands, because the dependence is estimated.
        assert!((1_000.0..=5_000.0).contains(&independent(5_000, 200e6, |_| true)));
        // Every 300th run executes it. These runs are 300 ms apart, and there are again 5,000.
        assert!((1_000.0..=5_000.0).contains(&independent(1_500_000, 1e6, |run| run % 300 == 299)));
        // Only the last second executes it.
        assert_eq!(independent(6_000, 1e6, |run| run >= 5_000), 11.0);
        assert_eq!(independent(100, 1e6, |_| false), 0.0);
    }

    #[test]
    fn differences_and_ratios_add_what_is_unsure_on_both_sides() {
        let estimate =
            |median, interval| MedianEstimate { median, interval: Some(interval), samples: 9, independent: 9.0 };
        let (a, b) = (estimate(10.0, (6.0, 13.0)), estimate(20.0, (16.0, 32.0)));
        assert_eq!(a.difference_to(&b), Some((10.0 - 5.0, 10.0 + 160.0_f64.sqrt())));
        let (low, high) = a.ratio_to(&b).unwrap();
        assert!(low < 2.0 && 2.0 < high && low > 16.0 / 13.0 && high < 32.0 / 6.0, "{low} to {high}");
        let zero = estimate(0.0, (0.0, 1.0));
        assert_eq!((zero.ratio_to(&b), zero.difference_to(&b).is_some()), (None, true), "no ratio to nothing");
        assert_eq!(b.including((0.5, 0.9)).interval, Some((8.0, 32.0)));
    }

    #[test]
    fn the_median_of_an_even_count_lies_between_the_two_in_the_middle() {
        assert_eq!(median(&mut []), 0.0);
        assert_eq!(median(&mut [3.0]), 3.0);
        assert_eq!(median(&mut [9.0, 1.0, 3.0, 5.0]), 4.0);
        assert_eq!(median(&mut [9.0, 1.0, 3.0]), 3.0);
    }

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
