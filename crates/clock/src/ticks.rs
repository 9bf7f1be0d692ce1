use std::sync::atomic::{AtomicU8, Ordering};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::Timestamp;

/// A raw reading of the fastest clock of this machine. Only differences and order mean something, and only within one
/// boot of one machine; a [`Calibration`](crate::Calibration) turns it into time.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(transparent)]
pub struct Ticks(u64);

/// What ticks count on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TickSource {
    /// The processor's time-stamp counter, which this processor states to run at one constant rate.
    TimeStampCounter,
    /// Nanoseconds of `CLOCK_BOOTTIME`.
    SystemClock,
}

const UNKNOWN: u8 = 0;
const COUNTER: u8 = 1;
const SYSTEM: u8 = 2;

static SOURCE: AtomicU8 = AtomicU8::new(UNKNOWN);

impl Ticks {
    /// Reads the clock: about 8 ns with a time-stamp counter, about 25 ns without.
    #[inline]
    pub fn now() -> Self {
        #[cfg(target_arch = "x86_64")]
        if SOURCE.load(Ordering::Relaxed) == COUNTER {
            return Self::read_counter();
        }
        Self::now_slow()
    }

    /// Returns the reading as it is stored in records.
    #[inline]
    pub const fn as_raw(self) -> u64 {
        self.0
    }

    /// Creates a reading that was stored earlier.
    #[inline]
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn read_counter() -> Self {
        // SAFETY: RDTSC needs no state and exists on every x86-64 processor; where a system forbids it (PR_SET_TSC) the
        // process set that for itself.
        Self(unsafe { core::arch::x86_64::_rdtsc() })
    }

    #[cold]
    fn now_slow() -> Self {
        match TickSource::current() {
            #[cfg(target_arch = "x86_64")]
            TickSource::TimeStampCounter => Self::read_counter(),
            _ => Self(Timestamp::now().as_nanos()),
        }
    }
}

impl TickSource {
    /// Returns what [`Ticks::now`] reads here. Decided once per process.
    pub fn current() -> Self {
        match SOURCE.load(Ordering::Relaxed) {
            COUNTER => Self::TimeStampCounter,
            SYSTEM => Self::SystemClock,
            _ => {
                let found = if counter_is_invariant() { COUNTER } else { SYSTEM };
                SOURCE.store(found, Ordering::Relaxed);
                Self::current()
            }
        }
    }
}

/// Returns whether the counter ticks at one rate in every power state: CPUID leaf 0x8000_0007, EDX bit 8.
#[cfg(target_arch = "x86_64")]
fn counter_is_invariant() -> bool {
    use core::arch::x86_64::__cpuid;
    const HIGHEST_EXTENDED_LEAF: u32 = 0x8000_0000;
    const POWER_MANAGEMENT_LEAF: u32 = 0x8000_0007;
    const INVARIANT_COUNTER: u32 = 1 << 8;
    __cpuid(HIGHEST_EXTENDED_LEAF).eax >= POWER_MANAGEMENT_LEAF
        && __cpuid(POWER_MANAGEMENT_LEAF).edx & INVARIANT_COUNTER != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn counter_is_invariant() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_never_run_backwards_on_one_thread() {
        let mut last = Ticks::now();
        for _ in 0..10_000 {
            let now = Ticks::now();
            assert!(now >= last);
            last = now;
        }
    }
}
