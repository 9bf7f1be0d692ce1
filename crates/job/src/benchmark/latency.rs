//! Statistics of many times.

use opscope_profile::percentile;
use serde::Serialize;

/// A summary of times, all in milliseconds. Percentiles are those of [`opscope_profile::percentile`], computed from the
/// samples themselves and not from bins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Latency {
    /// The shortest.
    pub min: f64,
    /// The longest.
    pub max: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The 50th percentile.
    pub median: f64,
    /// The 90th percentile.
    #[serde(rename = "P90")]
    pub p90: f64,
    /// The 95th percentile.
    #[serde(rename = "P95")]
    pub p95: f64,
    /// The 99th percentile.
    #[serde(rename = "P99")]
    pub p99: f64,
    /// The 99.9th percentile.
    #[serde(rename = "P99.9")]
    pub p999: f64,
    /// The 99th percentile again, under the name that it has in the tools that this command replaces.
    #[serde(rename = "percentile(99%)")]
    pub percentile_99: f64,
    /// The number of times.
    pub count: usize,
}

impl Latency {
    /// Summarises times in milliseconds. Returns `None` if there are none.
    pub fn of(times: &[f64]) -> Option<Self> {
        let mut sorted = times.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |percent: f64| percentile(&sorted, percent);
        Some(Self {
            min: *sorted.first()?,
            max: *sorted.last()?,
            mean: times.iter().sum::<f64>() / times.len() as f64,
            median: at(50.0),
            p90: at(90.0),
            p95: at(95.0),
            p99: at(99.0),
            p999: at(99.9),
            percentile_99: at(99.0),
            count: times.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `numpy.percentile([0.1, 0.5, 0.2, 1.7, 0.9, 0.4, 3.3], p)` for 50, 90, 95, 99, 99.9.
    #[test]
    fn percentiles_are_numpys() {
        let latency = Latency::of(&[0.1, 0.5, 0.2, 1.7, 0.9, 0.4, 3.3]).unwrap();
        let found = [latency.median, latency.p90, latency.p95, latency.p99, latency.p999];
        assert_eq!(found, [0.5, 2.3400000000000007, 2.8199999999999985, 3.203999999999999, 3.290400000000001]);
        assert_eq!((latency.min, latency.max, latency.count), (0.1, 3.3, 7));
    }

    #[test]
    fn no_times_have_no_summary() {
        assert_eq!(Latency::of(&[]), None);
    }
}
