use rustix::time::{ClockId, clock_gettime};

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
    use super::*;

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
