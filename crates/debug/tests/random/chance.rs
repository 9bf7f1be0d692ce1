use opscope_debug::{AttachOptions, BreakpointChange, BreakpointSpec, EventName, EventSet};
use opscope_model::RunId;
use std::time::Duration;

use crate::RUNS;

/// A generator of random decisions (xorshift64).
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }

    /// Returns true once in this many times, on average.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// Removes a random element.
    pub fn take<T>(&mut self, from: &mut Vec<T>) -> Option<T> {
        (!from.is_empty()).then(|| from.swap_remove(self.below(from.len() as u64) as usize))
    }

    pub fn run(&mut self) -> RunId {
        RunId(self.below(RUNS))
    }

    pub fn events(&mut self) -> EventSet {
        let likely = self.below(8) + 1;
        EventName::ALL.into_iter().filter(|_| self.one_in(likely)).collect()
    }

    pub fn options(&mut self) -> AttachOptions {
        AttachOptions {
            events: self.events(),
            lease: if self.one_in(4) { Duration::from_millis(self.below(3)) } else { Duration::from_secs(3600) },
            timeout: self.one_in(3).then(|| Duration::from_millis(self.below(3))),
            strict_callbacks: self.one_in(4),
            statistics: self.one_in(2),
            async_capacity: self.pick(&[1, 2, 50, 10_000]),
            ..AttachOptions::default()
        }
    }

    pub fn breakpoint(&mut self) -> BreakpointSpec {
        let target =
            self.pick(&["*", "log", "type:Mul", "#2", "relu", "shape", "re:^s", "first nonfinite", "first nan"]);
        let spec = BreakpointSpec {
            run: self.one_in(3).then(|| self.run().0),
            enabled: !self.one_in(8),
            ignore: self.below(3),
            one_shot: self.one_in(3),
            ..BreakpointSpec::at(target.parse().unwrap())
        };
        if target.starts_with("first") || self.one_in(2) {
            return spec;
        }
        spec.when(self.pick(&["nan", "absmax(input) > 4", "min(output) < 0 or inf", "not nan and mean > 2"]))
    }

    pub fn change(&mut self) -> BreakpointChange {
        BreakpointChange {
            enabled: Some(!self.one_in(3)),
            ignore: Some(self.below(4)),
            one_shot: Some(self.one_in(2)),
            condition: self.one_in(2).then(String::new),
        }
    }
}
