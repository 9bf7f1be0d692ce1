//! The clock of opscope.
//!
//! Reading the system clock costs 20 ns and more; reading the processor's time-stamp counter costs about 8 ns. So
//! measurements are stored as raw [`Ticks`]. Later, outside of the measured path, a [`Calibration`], which consists of
//! two moments at which both clocks were read, turns them into [`Timestamp`]s.
//!
//! If the counter does not run at a constant rate, or there is none, ticks are the system clock's nanoseconds. The same
//! code works then, but slower.
//!
//! Waits (intervals, timeouts, leases) use a [`Clock`]: the system's monotonic clock, or a [`ManualClock`] that a test
//! advances.

mod calibration;
mod clock;
mod manual;
mod ticks;

pub use calibration::{Calibration, ClockPair};
pub use clock::{Clock, Timestamp, Wait};
pub use manual::{ManualClock, Sleeper};
pub use ticks::{TickSource, Ticks};
