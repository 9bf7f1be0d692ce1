use std::time::{Duration, Instant};

use opscope_clock::Clock;
use opscope_model::{Action, Dispatch, Interest, KernelSet, RunObserver};
use opscope_tensor::TensorView;

/// Stops a run between two operators after a moment has passed.
#[derive(Debug, Clone, Default)]
pub(super) struct Deadline {
    clock: Clock,
    /// `None` for never.
    moment: Option<Instant>,
}

impl Deadline {
    /// Returns a deadline this long after now. A time that is too long for the clock means no deadline.
    pub fn after(time: Duration, clock: &Clock) -> Self {
        Self { clock: clock.clone(), moment: clock.after(time) }
    }

    pub fn has_passed(&self) -> bool {
        self.moment.is_some_and(|moment| self.clock.now() > moment)
    }

    /// Returns whether work that takes this long would end before the deadline.
    pub fn allows(&self, time: Duration) -> bool {
        self.moment.is_none_or(|moment| self.clock.after(time).is_some_and(|end| end < moment))
    }
}

impl RunObserver for Deadline {
    fn interest(&self) -> Interest {
        let before = if self.moment.is_some() { KernelSet::All } else { KernelSet::Empty };
        Interest { before, ..Interest::default() }
    }

    fn before(&self, _dispatch: &Dispatch<'_>, _inputs: &[TensorView<'_>]) -> Action {
        if self.has_passed() { Action::Stop("the deadline has passed".to_owned()) } else { Action::Continue }
    }
}

#[cfg(test)]
mod tests {
    use opscope_clock::ManualClock;

    use super::*;

    #[test]
    fn a_deadline_passes_when_its_time_is_over_and_allows_what_ends_before() {
        let clock = ManualClock::create();
        let deadline = Deadline::after(Duration::from_secs(17), &Clock::manual(&clock));
        clock.advance(Duration::from_secs(10));
        assert!(deadline.allows(Duration::from_millis(6_999)));
        assert!(!deadline.allows(Duration::from_secs(7)));
        clock.advance(Duration::from_secs(7));
        assert!(!deadline.has_passed());
        clock.advance(Duration::from_millis(1));
        assert!(deadline.has_passed());
        assert!(!deadline.allows(Duration::ZERO));
    }

    #[test]
    fn without_a_deadline_nothing_is_too_late() {
        for never in [Deadline::default(), Deadline::after(Duration::MAX, &Clock::system())] {
            assert!(!never.has_passed());
            assert!(never.allows(Duration::MAX));
            assert!(matches!(never.interest().before, KernelSet::Empty));
        }
    }
}
