use std::num::NonZeroUsize;
use std::time::Duration;

/// How often a model runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Repetition {
    /// How many times all inputs are run. With `until_stable` or `duration` this is the least number.
    pub loops: u64,
    /// The number of warm-up runs, which come first and are not measured.
    pub warmups: u64,
    /// Warm-up runs are repeated for at least this time.
    pub warm_up: Duration,
    /// Repeat until the 95 % confidence interval of the median is at most this wide, in percent of the median.
    pub until_stable: Option<f64>,
    /// Repeat for at least this time. With `until_stable`, repeat for at most this time.
    pub duration: Option<Duration>,
    /// The number of concurrent runs.
    pub concurrent: NonZeroUsize,
}

impl Default for Repetition {
    /// Returns one run after one warm-up run.
    fn default() -> Self {
        Self {
            loops: 1,
            warmups: 1,
            warm_up: Duration::ZERO,
            until_stable: None,
            duration: None,
            concurrent: NonZeroUsize::MIN,
        }
    }
}
