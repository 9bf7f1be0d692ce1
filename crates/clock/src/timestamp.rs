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

    /// Nanoseconds since boot.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Creates a moment that many nanoseconds after boot.
    pub const fn from_nanos_since_boot(nanos: u64) -> Self {
        Self(nanos)
    }
}
