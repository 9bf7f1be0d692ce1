//! The calibration that converts a producer's ticks into nanoseconds of `CLOCK_BOOTTIME`.

use opscope_clock::{Calibration, ClockPair, TickSource, Ticks, Timestamp};
use opscope_sys::Mutex;

/// The time between the two readings of a calibration, once the process is old enough, and the longest time that a
/// calibration is used. In nanoseconds.
const DISTANCE: u64 = 1_000_000_000;

/// A calibration is discarded if its rate differs from the previous one's by more than this fraction. That happens if
/// the machine slept in between: the counter stops, but the clock continues.
const SAME_RATE: f64 = 1e-3;

static CLOCK: Mutex<Clock> = Mutex::new(Clock { start: None, current: None });

struct Clock {
    /// The first reading of the next calibration.
    start: Option<ClockPair>,
    current: Option<Current>,
}

#[derive(Clone, Copy)]
struct Current {
    calibration: Calibration,
    /// When the calibration was made.
    made: Ticks,
    /// How long it is used, in nanoseconds.
    lasts: f64,
}

/// Returns the current time in nanoseconds of `CLOCK_BOOTTIME`.
pub(crate) fn nanos_now() -> u64 {
    Timestamp::now().as_nanos()
}

/// Reads both clocks, as the starting point of the first calibration.
pub(crate) fn start() {
    CLOCK.lock().start.get_or_insert_with(ClockPair::now);
}

/// Returns the calibration for a run that begins now. A calibration is used for at most a second, so that it follows
/// the corrections of the system clock. A renewal takes about a microsecond.
fn calibration(now: Ticks) -> Calibration {
    let mut clock = CLOCK.lock();
    match clock.current {
        Some(current) if current.calibration.nanos(current.made, now) < current.lasts => current.calibration,
        _ => clock.renew(),
    }
}

/// The beginning of a run, and the line that converts the run's times.
pub(super) struct Moment {
    ticks: Ticks,
    /// The same time in nanoseconds of `CLOCK_BOOTTIME`.
    pub nanos: u64,
    nanos_per_tick: f64,
}

impl Moment {
    pub fn now() -> Self {
        let ticks = Ticks::now();
        let calibration = calibration(ticks);
        let nanos = calibration.timestamp(ticks).as_nanos();
        Self { ticks, nanos, nanos_per_tick: calibration.nanos_per_tick() }
    }

    /// Returns another moment on the same line.
    pub fn at(self, ticks: Ticks) -> Self {
        Self { ticks, nanos: self.nanos(ticks), nanos_per_tick: self.nanos_per_tick }
    }

    /// Converts a time of the run into nanoseconds of `CLOCK_BOOTTIME`. It is called twice per dispatch, so it does
    /// less than [`Calibration::timestamp`]: it truncates fractions of a nanosecond, and calls no function.
    #[inline]
    pub fn nanos(&self, ticks: Ticks) -> u64 {
        let distance = ticks.as_raw().wrapping_sub(self.ticks.as_raw()) as i64;
        self.nanos.saturating_add_signed((distance as f64 * self.nanos_per_tick) as i64)
    }
}

impl Clock {
    #[cold]
    fn renew(&mut self) -> Calibration {
        if TickSource::current() == TickSource::SystemClock {
            return Calibration::identity();
        }
        let start = *self.start.get_or_insert_with(ClockPair::now);
        let mut calibration = Calibration::since(start);
        let mut end = ClockPair::now();
        let mut distance = end.time.as_nanos().saturating_sub(start.time.as_nanos());
        let is_same = |old: Current| (calibration.nanos_per_tick() / old.calibration.nanos_per_tick() - 1.0).abs();
        if self.current.is_some_and(|old| is_same(old) > SAME_RATE) {
            self.start = Some(end);
            calibration = Calibration::since(end);
            end = ClockPair::now();
            distance = 0;
        }
        if distance >= DISTANCE {
            self.start = Some(end);
        }
        let lasts = distance.clamp(DISTANCE / 1000, DISTANCE) as f64;
        self.current = Some(Current { calibration, made: end.ticks, lasts });
        calibration
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_run_lie_between_readings_of_the_system_clock() {
        start();
        for _ in 0..3 {
            let before = nanos_now();
            let ticks = Ticks::now();
            let after = nanos_now();
            let time = Moment::now().nanos(ticks);
            let slack = 100_000;
            assert!(time + slack >= before && time <= after + slack, "{before} <= {time} <= {after}");
        }
    }
}
