use std::sync::atomic::{AtomicU64, Ordering};

use opscope_clock::Ticks;
use opscope_model::{Interest, RunObserver};

/// The moment when an engine had run the model, in a run after which it writes and reads its own profile. That work
/// belongs to the profile and not to the inference.
#[derive(Default)]
pub(super) struct EngineEnd(AtomicU64);

impl EngineEnd {
    /// Returns the span of an inference without the work on the profile after it.
    pub fn of(&self, (start, end): (Ticks, Ticks)) -> (Ticks, Ticks) {
        match self.0.load(Ordering::Relaxed) {
            0 => (start, end),
            ended => (start, Ticks::from_raw(ended).clamp(start, end)),
        }
    }
}

impl RunObserver for &EngineEnd {
    fn interest(&self) -> Interest {
        Interest { times: true, ..Interest::default() }
    }

    fn profiled(&self, start: Ticks, _end: Ticks) {
        self.0.store(start.as_raw(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inference_ends_where_the_engines_work_on_its_profile_begins() {
        let ticks = |(start, end)| (Ticks::from_raw(start), Ticks::from_raw(end));
        let end = EngineEnd::default();
        assert_eq!(end.of(ticks((10, 90))), ticks((10, 90)), "an engine without a profile");
        (&end).profiled(Ticks::from_raw(40), Ticks::from_raw(80));
        assert_eq!(end.of(ticks((10, 90))), ticks((10, 40)));
        assert_eq!(end.of(ticks((50, 90))), ticks((50, 50)));
    }
}
