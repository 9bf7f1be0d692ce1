use std::sync::Weak;
use std::time::{Duration, Instant};

use opscope_sys::{Condvar, MutexGuard};
use rustix::time::{ClockId, clock_gettime};

use crate::{ManualClock, Sleeper};

/// The clock by which intervals, timeouts and leases are measured: the system's monotonic clock, or a [`ManualClock`]
/// that a test advances.
///
/// It is one pointer, and reading the system's clock through it costs an additional branch. Measurements use
/// [`Ticks`](crate::Ticks) instead.
#[derive(Debug, Clone, Default)]
pub struct Clock(Option<ManualClock>);

/// A wait in progress for a moment. It ends when this is dropped.
#[derive(Debug)]
pub struct Wait<'a> {
    clock: &'a Clock,
    until: Instant,
    /// The number of the wait; 0 with the system's clock.
    number: u64,
}

impl Clock {
    /// Returns the system's monotonic clock.
    pub const fn system() -> Self {
        Self(None)
    }

    /// Returns a clock that shows the time of a manual clock.
    pub fn manual(clock: &ManualClock) -> Self {
        Self(Some(clock.clone()))
    }

    /// Returns the time.
    #[inline]
    pub fn now(&self) -> Instant {
        match &self.0 {
            None => Instant::now(),
            Some(manual) => manual.now(),
        }
    }

    /// Returns how long ago a moment was; zero if it is in the future.
    pub fn elapsed(&self, since: Instant) -> Duration {
        self.now().saturating_duration_since(since)
    }

    /// Returns the moment this long after now; `None` if it exceeds the clock's range.
    pub fn after(&self, time: Duration) -> Option<Instant> {
        self.now().checked_add(time)
    }

    /// Returns whether a moment has come.
    pub fn has_come(&self, moment: Instant) -> bool {
        self.now() >= moment
    }

    /// Waits for a signal, at most until a moment. The wait may also end earlier. With a manual clock, a
    /// [registered](Self::register) sleeper must also send the signal.
    pub fn wait<'a, T>(&self, signal: &Condvar, guard: MutexGuard<'a, T>, until: Option<Instant>) -> MutexGuard<'a, T> {
        let wait = until.map(|until| self.begin_wait(until));
        match wait.as_ref().and_then(Wait::left) {
            None => signal.wait(guard),
            Some(left) => signal.wait_timeout(guard, left),
        }
    }

    /// Begins a wait for a moment that uses no signal but, for example, a call of `poll` with the time that is
    /// [left](Wait::left).
    pub fn begin_wait(&self, until: Instant) -> Wait<'_> {
        let number = self.0.as_ref().map_or(0, |manual| manual.begin_wait(until));
        Wait { clock: self, until, number }
    }

    /// Registers threads to be woken whenever the clock is advanced. Has no effect with the system's clock, which
    /// advances by itself.
    pub fn register(&self, sleeper: Weak<dyn Sleeper>) {
        if let Some(manual) = &self.0 {
            manual.register(sleeper);
        }
    }
}

impl Wait<'_> {
    /// Returns the real time after which the wait has to end by itself; `None` if the sleeper of a manual clock ends
    /// it.
    pub fn left(&self) -> Option<Duration> {
        let left = self.until.saturating_duration_since(self.clock.now());
        (self.clock.0.is_none() || left.is_zero()).then_some(left)
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if let Some(manual) = &self.clock.0 {
            manual.end_wait(self.number);
        }
    }
}

/// A moment in nanoseconds of `CLOCK_BOOTTIME`: it starts at boot, never jumps, and continues while the machine sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Reads `CLOCK_BOOTTIME`.
    pub fn now() -> Self {
        let time = clock_gettime(ClockId::Boottime);
        Self(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }

    /// Returns the nanoseconds since boot.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Creates a moment that many nanoseconds after boot.
    pub const fn from_nanos_since_boot(nanos: u64) -> Self {
        Self(nanos)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use opscope_sys::Mutex;

    use super::*;

    /// A thread that waits for a moment.
    #[derive(Default)]
    struct Alarm {
        rung: Mutex<u32>,
        signal: Condvar,
    }

    impl Sleeper for Alarm {
        fn wake_up(&self) {
            drop(self.rung.lock());
            self.signal.notify_all();
        }
    }

    impl Alarm {
        /// Waits for three moments, a second apart.
        fn ring(&self, clock: &Clock) {
            for _ in 0..3 {
                let due = clock.after(Duration::from_secs(1)).expect("a second is near");
                let mut rung = self.rung.lock();
                while !clock.has_come(due) {
                    rung = clock.wait(&self.signal, rung, Some(due));
                }
                *rung += 1;
            }
        }
    }

    #[test]
    fn a_manual_clock_stands_still_until_it_is_advanced_and_wakes_those_whose_moment_has_come() {
        let manual = ManualClock::create();
        let clock = Clock::manual(&manual);
        let begin = clock.now();
        let alarm = Arc::new(Alarm::default());
        let weak: Weak<Alarm> = Arc::downgrade(&alarm);
        clock.register(weak);
        let rung = || *alarm.rung.lock();
        thread::scope(|scope| {
            let thread = scope.spawn(|| alarm.ring(&clock));
            for count in 0..3 {
                manual.await_waits(1);
                manual.advance(Duration::from_millis(999));
                manual.await_waits(1);
                assert_eq!(rung(), count, "a millisecond is left");
                manual.advance(Duration::from_millis(1));
            }
            thread.join().expect("it waits three times");
        });
        assert_eq!((rung(), clock.elapsed(begin)), (3, Duration::from_secs(3)));
        assert!(clock.has_come(begin + Duration::from_secs(3)));
        assert!(!clock.has_come(begin + Duration::from_secs(3) + Duration::from_nanos(1)));
        assert_eq!(clock.elapsed(begin + Duration::from_secs(4)), Duration::ZERO);
    }

    #[test]
    fn a_wait_says_how_long_it_may_take_in_real_time() {
        let manual = ManualClock::create();
        let clock = Clock::manual(&manual);
        let later = clock.now() + Duration::from_secs(1);
        assert_eq!(clock.begin_wait(later).left(), None, "until the clock is advanced");
        assert_eq!(clock.begin_wait(clock.now()).left(), Some(Duration::ZERO));
        let system = Clock::system();
        let left = system.begin_wait(system.now() + Duration::from_secs(60)).left().expect("real time");
        assert!(left > Duration::from_secs(30) && left <= Duration::from_secs(60), "{left:?}");
        assert_eq!(system.begin_wait(system.now()).left(), Some(Duration::ZERO));
    }

    #[test]
    fn the_system_clock_ends_a_wait_by_itself() {
        let (clock, lock, signal) = (Clock::default(), Mutex::new(()), Condvar::new());
        let begin = clock.now();
        let due = begin + Duration::from_millis(200);
        let mut guard = lock.lock();
        while !clock.has_come(due) {
            guard = clock.wait(&signal, guard, Some(due));
        }
        let took = begin.elapsed();
        assert!((Duration::from_millis(200)..Duration::from_secs(2)).contains(&took), "{took:?}");
    }

    #[test]
    fn a_time_that_is_too_long_for_the_clock_has_no_end() {
        let clock = Clock::system();
        assert_eq!(clock.after(Duration::MAX), None);
        assert!(clock.after(Duration::from_secs(3600)).is_some_and(|moment| moment > clock.now()));
    }

    #[test]
    fn the_time_is_the_nanoseconds_since_the_system_began() {
        let uptime = || {
            let text = std::fs::read_to_string("/proc/uptime").expect("a system of Linux");
            let seconds = text.split(' ').next().and_then(|seconds| seconds.parse::<f64>().ok());
            seconds.expect("seconds") * 1e9
        };
        let (before, time, after) = (uptime(), Timestamp::now().as_nanos() as f64, uptime());
        // The system rounds hundredths of a second down.
        assert!(before <= time + 1e7 && time <= after + 2e7, "{before} {time} {after}");
        let earlier = Timestamp::now();
        assert!(earlier <= Timestamp::now());
        assert_eq!(Timestamp::from_nanos_since_boot(5).as_nanos(), 5);
        assert_eq!(Timestamp::default().as_nanos(), 0);
    }
}
