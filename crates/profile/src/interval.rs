//! Medians and their confidence intervals, for times that depend on one another.
//!
//! Successive runs are not independent: other programs, the clock frequency and the caches slow down many runs in a row. An
//! interval that ignores this is too narrow. Here the number of runs `n` is divided by their correlation time `tau`, which
//! gives the number of independent runs that would tell as much.
//!
//! - *The interval of a median* are the times between which the median lies with a probability of 95 %, whatever the
//!   distribution: those at the ranks `n/2 +- z * sqrt(n * tau) / 2` with `z` = 1.96 (R. S. Woodruff, "Confidence Intervals for
//!   Medians and Other Position Measures", Journal of the American Statistical Association 47, 1952, with `tau` as the design
//!   effect; `tau` = 1 is the well-known interval by the binomial distribution).
//! - *The correlation time* is that of whether a run lies above or below the median, since the median depends on nothing else:
//!   the variance of sums over `b` successive runs, divided by `b` and by the variance of one, which grows with `b` until it
//!   is `tau` (H. Flyvbjerg, H. G. Petersen, "Error estimates on averages of correlated data", Journal of Chemical Physics 91,
//!   1989). The largest value over all `b` counts, up to an eighth of the runs.
//! - *The interval of a difference* has, at each end, the square root of the sum of the squared distances of both medians to the
//!   ends of their intervals (D. G. Bonett, R. M. Price, "Statistical Inference for a Linear Function of Medians",
//!   Psychological Methods 7, 2002; G. Y. Zou, A. Donner, Statistics in Medicine 27, 2008, for intervals that are not symmetric).

use serde::Serialize;

/// The quantile of the normal distribution for 95 %.
const DEVIATIONS: f64 = 1.959_964;
/// The least number of independent samples that an interval needs: the extremes of 6 include the median with 97 %.
const LEAST_SAMPLES: f64 = 6.0;
/// The least number of blocks whose sums have a variance.
const LEAST_BLOCKS: usize = 8;

/// A median and its 95 % confidence interval, in the unit of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MedianEstimate {
    /// The median.
    pub median: f64,
    /// The ends of the interval; `None` if the samples amount to fewer than 6 independent ones.
    pub interval: Option<(f64, f64)>,
    /// How many samples there are.
    pub samples: usize,
    /// How many independent samples would tell as much.
    pub independent: f64,
}

impl MedianEstimate {
    /// Estimates the median of samples in the order in which they were taken. `correlated` is the least number of successive
    /// samples that count as one: 1 if only the samples themselves are to tell. Returns `None` if there is no sample.
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

    /// Returns the 95 % confidence interval of the difference of another median and this one: `other - self`. `None` if one of
    /// them has no interval.
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

/// Returns the median: for an even number of numbers the mean of the two in the middle; 0 where there is none. Changes
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

/// Returns how many successive samples tell as much of the median as one would if they were independent; at least 1.
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
    while sums.len() >= LEAST_BLOCKS {
        let mean = sums.iter().sum::<f64>() / sums.len() as f64;
        let squares: f64 = sums.iter().map(|sum| (sum - mean).powi(2)).sum();
        time = time.max(squares / (sums.len() - 1) as f64 / size / ONE);
        sums = sums.chunks_exact(2).map(|pair| pair[0] + pair[1]).collect();
        size *= 2.0;
    }
    time
}
