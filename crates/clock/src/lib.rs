//! The clock of opscope.
//!
//! Reading the system clock costs 20 ns and more; reading the processor's time-stamp counter costs about 8 ns. So what is
//! measured is stored as raw [`Ticks`], and becomes a [`Timestamp`] later, outside of the measured path, through a
//! [`Calibration`]: two moments at which both clocks were read.
//!
//! Where the counter does not run at one constant rate (or there is none), ticks are the system clock's nanoseconds and
//! the same code works, slower.
//!
//! What waits (intervals, timeouts, leases) reads a [`Clock`]: the system's monotonic clock, or a [`ManualClock`] that a test
//! advances.

mod calibration;
mod clock;
mod manual;
mod ticks;
mod timestamp;

pub use calibration::{Calibration, ClockPair};
pub use clock::{Clock, Wait};
pub use manual::{ManualClock, Sleeper};
pub use ticks::{TickSource, Ticks};
pub use timestamp::Timestamp;
