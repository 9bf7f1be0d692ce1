use std::num::NonZeroUsize;
use std::time::Duration;

/// How often a model runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Repetition {
    /// How many times all inputs are run; with `until_stable` or `duration` the least number.
    pub loops: u64,
    /// Runs before those, which are not measured.
    pub warmups: u64,
    /// Such runs are repeated for at least this time.
    pub warm_up: Duration,
    /// Repeat until the 95 % confidence interval of the median is at most this many percent of the median wide.
    pub until_stable: Option<f64>,
    /// Repeat for at least this time; with `until_stable` for at most this time.
    pub duration: Option<Duration>,
    /// Runs at a time.
    pub concurrent: NonZeroUsize,
}

impl Default for Repetition {
    /// One run, after one warm-up run.
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
