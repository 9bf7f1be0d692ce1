use std::sync::atomic::{AtomicU8, Ordering};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::Timestamp;

/// A raw reading of the fastest clock of this machine. Only differences and order are meaningful, and only within one
/// boot of one machine. A [`Calibration`](crate::Calibration) turns it into time.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(transparent)]
pub struct Ticks(u64);

/// What ticks count on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TickSource {
    /// The processor's time-stamp counter, which runs at a constant rate according to this processor.
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
        // SAFETY: RDTSC needs no state and exists on every x86-64 processor. A system forbids it only to a process that
        // requested this itself (PR_SET_TSC).
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
        if let Some(known) = Self::of(SOURCE.load(Ordering::Relaxed)) {
            return known;
        }
        let found = if counter_is_invariant() { COUNTER } else { SYSTEM };
        SOURCE.store(found, Ordering::Relaxed);
        Self::current()
    }

    /// Returns the decision from its stored form.
    fn of(kept: u8) -> Option<Self> {
        match kept {
            COUNTER => Some(Self::TimeStampCounter),
            SYSTEM => Some(Self::SystemClock),
            _ => None,
        }
    }
}

/// Returns whether the counter ticks at one rate in every power state: CPUID leaf 0x8000_0007, EDX bit 8.
#[cfg(target_arch = "x86_64")]
fn counter_is_invariant() -> bool {
    use core::arch::x86_64::__cpuid;
    const HIGHEST_EXTENDED_LEAF: u32 = 0x8000_0000;
    is_invariant(__cpuid(HIGHEST_EXTENDED_LEAF).eax, || __cpuid(POWER_MANAGEMENT_LEAF).edx)
}

#[cfg(target_arch = "x86_64")]
const POWER_MANAGEMENT_LEAF: u32 = 0x8000_0007;

/// Returns whether a processor has such a counter, from its highest leaf of CPUID and, if it has that leaf, the word
/// for power management.
#[cfg(target_arch = "x86_64")]
fn is_invariant(highest_leaf: u32, power_management: impl FnOnce() -> u32) -> bool {
    const INVARIANT_COUNTER: u32 = 1 << 8;
    highest_leaf >= POWER_MANAGEMENT_LEAF && power_management() & INVARIANT_COUNTER != 0
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

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_counter_is_the_source_where_the_system_says_that_its_rate_is_constant() {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let flags = text.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
        // Systems that emulate this file may not list it.
        if flags.split_whitespace().any(|flag| flag == "nonstop_tsc") {
            assert!(counter_is_invariant());
            assert_eq!(TickSource::current(), TickSource::TimeStampCounter);
        }
        assert_eq!(TickSource::current(), TickSource::current(), "it is kept");
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_constant_rate_is_bit_8_of_a_leaf_that_not_every_processor_has() {
        for (highest, word, expected) in [
            (0x8000_0007, 0x100, true),
            (0x8000_0008, u32::MAX, true),
            (0x8000_0006, 0x100, false),
            (0x8000_0007, !0x100, false),
            (0x8000_0007, 0, false),
        ] {
            assert_eq!(is_invariant(highest, || word), expected, "{highest:#x} {word:#x}");
        }
    }

    #[test]
    fn ticks_are_those_of_their_source() {
        for _ in 0..2 {
            let (before, ticks, after) = match TickSource::current() {
                #[cfg(target_arch = "x86_64")]
                TickSource::TimeStampCounter => (Ticks::read_counter(), Ticks::now(), Ticks::read_counter()),
                _ => {
                    let now = || Ticks(Timestamp::now().as_nanos());
                    (now(), Ticks::now(), now())
                }
            };
            assert!(before <= ticks && ticks <= after, "{before:?} {ticks:?} {after:?}");
        }
        let (before, ticks) = (Ticks::now(), Ticks::now_slow());
        assert!(before <= ticks && ticks <= Ticks::now(), "the first call gives the same clock");
        assert_eq!((Ticks::from_raw(7).as_raw(), Ticks::default().as_raw()), (7, 0));
    }

    #[test]
    fn the_kept_source_decides_without_another_look() {
        for (kept, source) in [(COUNTER, TickSource::TimeStampCounter), (SYSTEM, TickSource::SystemClock)] {
            assert_eq!(TickSource::of(kept), Some(source));
        }
        assert_eq!(TickSource::of(UNKNOWN), None);
    }
}
