//! The goal of a case, and the only code that decides whether it is reached.

use std::fmt;
use std::time::{Duration, Instant};

use crate::{Measured, is_moment};

/// The longest time for which an undecided case is measured again.
const PATIENCE: Duration = Duration::from_secs(60);

/// The goal of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
}

/// Whether a case reaches its goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval is within the goal.
    Met,
    /// The whole interval is beyond the goal, or nothing was measured.
    Missed,
    /// The noise, or the interval, is too wide to tell. That counts as not met.
    Undecided,
}

/// A number that is compared with a goal, and its noise: the difference of the same thing from itself when it is
/// measured twice, in the unit of the number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// The number.
    pub measured: Measured,
    /// Its noise.
    pub noise: f64,
}

impl Judged {
    /// Creates a number that has no contender beside it, so its interval is its only noise.
    pub fn alone(measured: Measured) -> Self {
        Self { measured, noise: 0.0 }
    }

    /// Returns the number in another unit.
    pub fn times(self, factor: f64) -> Self {
        Self { measured: self.measured.times(factor), noise: self.noise * factor.abs() }
    }
}

impl Goal {
    /// Returns whether a number reaches the goal. The whole interval must be within it. A number whose noise is larger
    /// than its distance to the goal is undecided, on either side. A number that was not measured is missed.
    pub fn verdict(self, judged: Judged) -> Verdict {
        let Judged { measured: Measured { value, low, high }, noise } = judged;
        let (Self::AtMost(bound) | Self::AtLeast(bound)) = self;
        if [value, low, high, noise, bound].iter().any(|number| number.is_nan()) {
            return Verdict::Missed;
        }
        let (is_within, is_beyond) = match self {
            Self::AtMost(_) => (high <= bound, low > bound),
            Self::AtLeast(_) => (low >= bound, high < bound),
        };
        match () {
            () if noise > (bound - value).abs() => Verdict::Undecided,
            () if is_within => Verdict::Met,
            () if is_beyond => Verdict::Missed,
            () => Verdict::Undecided,
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, bound) = match self {
            Self::AtMost(bound) => ("<=", bound),
            Self::AtLeast(bound) => (">=", bound),
        };
        // Bounds that are computed from a peer's number have many digits. Only those that matter are shown.
        let digits = if *bound == bound.trunc() || bound.abs() >= 1000.0 { 0 } else { 2 };
        let text = format!("{bound:.digits$}");
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        write!(formatter, "{sign} {text}")
    }
}

/// Measures until the goal is decided, for a minute at most. `more` adds measurements to the earlier ones, and returns
/// the result of all of them.
pub fn decide(goal: Goal, mut more: impl FnMut() -> Judged) -> Judged {
    let start = Instant::now();
    loop {
        let judged = more();
        if goal.verdict(judged) != Verdict::Undecided || is_moment() || start.elapsed() >= PATIENCE {
            return judged;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(value: f64, (low, high): (f64, f64), noise: f64) -> Judged {
        Judged { measured: Measured { value, low, high }, noise }
    }

    #[test]
    fn a_goal_is_met_only_by_the_whole_interval() {
        let quiet = |low, high| judged(1.0, (low, high), 0.0);
        assert_eq!(Goal::AtMost(1.05).verdict(quiet(0.99, 1.05)), Verdict::Met);
        assert_eq!(Goal::AtMost(1.05).verdict(quiet(0.99, 1.051)), Verdict::Undecided);
        assert_eq!(Goal::AtMost(0.95).verdict(quiet(0.94, 1.01)), Verdict::Undecided);
        assert_eq!(Goal::AtMost(0.95).verdict(quiet(0.951, 1.01)), Verdict::Missed);
        assert_eq!(Goal::AtLeast(0.95).verdict(quiet(0.95, 1.01)), Verdict::Met);
        assert_eq!(Goal::AtLeast(0.95).verdict(quiet(0.949, 1.01)), Verdict::Undecided);
        assert_eq!(Goal::AtLeast(1.02).verdict(quiet(0.95, 1.01)), Verdict::Missed);
    }

    /// A rate of 0.536 whose interval exceeds the goal, with a noise ten times its distance to the goal, decides
    /// nothing.
    #[test]
    fn noise_larger_than_the_distance_to_the_goal_leaves_it_undecided() {
        assert_eq!(Goal::AtLeast(0.5).verdict(judged(0.536, (0.475, 0.668), 0.40)), Verdict::Undecided);
        assert_eq!(Goal::AtLeast(0.5).verdict(judged(0.536, (0.51, 0.56), 0.40)), Verdict::Undecided);
        assert_eq!(Goal::AtLeast(0.5).verdict(judged(0.536, (0.51, 0.56), 0.03)), Verdict::Met);
        assert_eq!(Goal::AtMost(1.01).verdict(judged(1.002, (1.0, 1.004), 0.009)), Verdict::Undecided);
        assert_eq!(Goal::AtMost(1.01).verdict(judged(1.002, (1.0, 1.004), 0.007)), Verdict::Met);
        assert_eq!(Goal::AtMost(1.01).verdict(judged(1.02, (1.018, 1.024), 0.02)), Verdict::Undecided);
    }

    #[test]
    fn what_was_not_measured_is_missed() {
        assert_eq!(Goal::AtMost(1.0).verdict(Judged::alone(Measured::of(&[]))), Verdict::Missed);
        assert_eq!(Goal::AtMost(f64::NAN).verdict(Judged::alone(Measured::exactly(0.5))), Verdict::Missed);
        assert_eq!(Goal::AtLeast(1.0).verdict(judged(2.0, (1.5, 2.5), f64::NAN)), Verdict::Missed);
    }

    #[test]
    fn measuring_ends_with_the_first_decided_result() {
        let mut noises = [0.5, 0.3, 0.01, 0.0].into_iter();
        let decided = decide(Goal::AtMost(1.1), || judged(1.0, (0.99, 1.01), noises.next().expect("one more")));
        assert_eq!((decided.noise, noises.len()), (0.01, 1));
    }

    #[test]
    fn a_goal_is_shown_with_the_digits_that_matter() {
        let shown = |bound| Goal::AtMost(bound).to_string();
        assert_eq!((shown(1.01), shown(80.0), shown(24.3456)), ("<= 1.01".into(), "<= 80".into(), "<= 24.35".into()));
        assert_eq!((shown(4369.07), Goal::AtLeast(0.5).to_string()), ("<= 4369".into(), ">= 0.5".into()));
    }
}
