use crate::{TickSource, Ticks, Timestamp};

/// The readings of both clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockPair {
    /// The raw clock.
    pub ticks: Ticks,
    /// The system clock at the same moment.
    pub time: Timestamp,
}

/// How ticks become time: two [`ClockPair`]s and the straight line through them.
///
/// Each pair is accurate to some ten nanoseconds. The error of the rate is this error divided by the time between the
/// pairs, so take the second one as late as possible.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    start: ClockPair,
    nanos_per_tick: f64,
}

impl ClockPair {
    /// Reads both clocks, several times, and keeps the reading during which the fewest ticks passed.
    pub fn now() -> Self {
        (0..8)
            .map(|_| {
                let (before, time, after) = (Ticks::now(), Timestamp::now(), Ticks::now());
                let (ticks, apart) = middle(before, after);
                (apart, Self { ticks, time })
            })
            .min_by_key(|(apart, _)| *apart)
            .map(|(_, pair)| pair)
            .expect("the range is not empty")
    }
}

/// Returns the middle of two readings, and how many ticks are between them.
fn middle(before: Ticks, after: Ticks) -> (Ticks, u64) {
    let apart = after.as_raw().saturating_sub(before.as_raw());
    (Ticks::from_raw(before.as_raw() + apart / 2), apart)
}

impl Calibration {
    /// Returns the line through two moments. If no ticks passed between them, a tick counts as a nanosecond.
    pub fn between(start: ClockPair, end: ClockPair) -> Self {
        let ticks = end.ticks.as_raw().saturating_sub(start.ticks.as_raw());
        let nanos = end.time.as_nanos().saturating_sub(start.time.as_nanos());
        let nanos_per_tick = if ticks == 0 || nanos == 0 { 1.0 } else { nanos as f64 / ticks as f64 };
        Self { start, nanos_per_tick }
    }

    /// Returns the calibration for ticks that are nanoseconds of `CLOCK_BOOTTIME`.
    pub fn identity() -> Self {
        let zero = ClockPair { ticks: Ticks::from_raw(0), time: Timestamp::default() };
        Self { start: zero, nanos_per_tick: 1.0 }
    }

    /// Returns the line from an earlier moment to now. If that moment is less than a millisecond ago, this waits,
    /// because otherwise the rate would be off by more than 0.01 %.
    pub fn since(start: ClockPair) -> Self {
        if TickSource::current() == TickSource::SystemClock {
            return Self::identity();
        }
        loop {
            let end = ClockPair::now();
            if end.time.as_nanos().saturating_sub(start.time.as_nanos()) >= 1_000_000 {
                return Self::between(start, end);
            }
            std::hint::spin_loop();
        }
    }

    /// Returns the moment at which these ticks were read, in nanoseconds of `CLOCK_BOOTTIME`.
    pub fn timestamp(&self, ticks: Ticks) -> Timestamp {
        let distance = ticks.as_raw().wrapping_sub(self.start.ticks.as_raw()) as i64;
        let nanos = (distance as f64 * self.nanos_per_tick).round() as i64;
        Timestamp::from_nanos_since_boot(self.start.time.as_nanos().saturating_add_signed(nanos))
    }

    /// Returns the length of an interval in nanoseconds, with a fraction if ticks are finer.
    pub fn nanos(&self, start: Ticks, end: Ticks) -> f64 {
        end.as_raw().wrapping_sub(start.as_raw()) as i64 as f64 * self.nanos_per_tick
    }

    /// Returns the nanoseconds per tick.
    pub fn nanos_per_tick(&self) -> f64 {
        self.nanos_per_tick
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(ticks: u64, nanos: u64) -> ClockPair {
        ClockPair { ticks: Ticks::from_raw(ticks), time: Timestamp::from_nanos_since_boot(nanos) }
    }

    #[test]
    fn ticks_before_and_after_the_pairs_follow_the_same_line() {
        let line = Calibration::between(pair(1_000, 500), pair(5_000, 1_500));
        assert_eq!(line.timestamp(Ticks::from_raw(3_000)).as_nanos(), 1_000);
        assert_eq!(line.timestamp(Ticks::from_raw(200)).as_nanos(), 300);
        assert_eq!(line.timestamp(Ticks::from_raw(9_000)).as_nanos(), 2_500);
        assert_eq!(line.nanos(Ticks::from_raw(8), Ticks::from_raw(16)), 2.0);
    }

    #[test]
    fn a_calibrated_tick_lies_between_two_readings_of_the_system_clock() {
        let calibration = Calibration::since(ClockPair::now());
        let before = Timestamp::now().as_nanos();
        let ticks = Ticks::now();
        let after = Timestamp::now().as_nanos();
        let time = calibration.timestamp(ticks).as_nanos();
        let slack = 100_000;
        assert!(time + slack >= before && time <= after + slack, "{before} <= {time} <= {after}");
    }

    #[test]
    fn pairs_without_a_distance_count_a_tick_as_a_nanosecond() {
        for (start, end) in [
            (pair(10, 20), pair(10, 20)),
            (pair(10, 20), pair(10, 90)),
            (pair(10, 20), pair(70, 20)),
            (pair(70, 90), pair(10, 20)),
        ] {
            let line = Calibration::between(start, end);
            assert_eq!(line.nanos_per_tick(), 1.0);
            assert_eq!(line.nanos(Ticks::from_raw(3), Ticks::from_raw(10)), 7.0);
            let later = Ticks::from_raw(start.ticks.as_raw() + 5);
            assert_eq!(line.timestamp(later).as_nanos(), start.time.as_nanos() + 5);
        }
        let identity = Calibration::identity();
        assert_eq!((identity.nanos_per_tick(), identity.timestamp(Ticks::from_raw(77)).as_nanos()), (1.0, 77));
    }

    #[test]
    fn a_line_has_the_nanoseconds_of_a_tick_and_rounds_to_the_nearest() {
        let line = Calibration::between(pair(1_000, 500), pair(5_000, 1_500));
        assert_eq!(line.nanos_per_tick(), 0.25);
        let at = |ticks| line.timestamp(Ticks::from_raw(ticks)).as_nanos();
        assert_eq!([at(1_000), at(1_001), at(1_002), at(1_003), at(998)], [500, 500, 501, 501, 499]);
        assert_eq!(line.nanos(Ticks::from_raw(16), Ticks::from_raw(8)), -2.0, "before the start");
        let fast = Calibration::between(pair(0, 100), pair(10, 40_100));
        assert_eq!((fast.nanos_per_tick(), fast.timestamp(Ticks::from_raw(3)).as_nanos()), (4000.0, 12_100));
    }

    #[test]
    fn the_middle_of_two_readings_is_as_far_from_both() {
        let of = |before, after| {
            let (ticks, apart) = middle(Ticks::from_raw(before), Ticks::from_raw(after));
            (ticks.as_raw(), apart)
        };
        assert_eq!([of(100, 140), of(100, 141), of(100, 100), of(100, 90)], [(120, 40), (120, 41), (100, 0), (100, 0)]);
    }

    #[test]
    fn a_pair_is_read_at_one_moment() {
        let before = (Ticks::now(), Timestamp::now());
        let pair = ClockPair::now();
        let after = (Ticks::now(), Timestamp::now());
        assert!(before.0 <= pair.ticks && pair.ticks <= after.0, "{before:?} {pair:?} {after:?}");
        assert!(before.1 <= pair.time && pair.time <= after.1, "{before:?} {pair:?} {after:?}");
    }

    #[test]
    fn a_calibration_takes_a_millisecond_at_least() {
        let start = ClockPair::now();
        let calibration = Calibration::since(start);
        let took = Timestamp::now().as_nanos() - start.time.as_nanos();
        let is_of_system_clock = TickSource::current() == TickSource::SystemClock;
        assert!(is_of_system_clock || took >= 1_000_000, "{took} ns");
        // From 10 MHz to 10 GHz.
        assert!((0.1..=100.0).contains(&calibration.nanos_per_tick()), "{calibration:?}");
    }
}
