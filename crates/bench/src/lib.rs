//! How the benchmarks of opscope measure, decide and report. Only benchmarks depend on this crate.
//!
//! [`Rounds`] measures contenders in turn, so a machine that slows down slows all of them. A [`Goal`] is met only if
//! the whole interval is within it, and if the noise of the same thing against itself is smaller than the distance to
//! the goal. Otherwise the case is undecided, and rounds are added until it is decided, for a minute at most. [`Case`]
//! prints the result.
//!
//! `OPSCOPE_BENCH_MOMENT=1` runs each benchmark for a moment: everything is executed, but the numbers mean nothing.
#![forbid(unsafe_code)]

mod case;
mod goal;
mod measurement;
mod rounds;

pub use case::{Case, finish, is_json, not_measured, say};
pub use goal::{Goal, Judged, Verdict, decide};
pub use measurement::{Measured, median};
pub use rounds::{Contender, Rounds};

/// Returns whether each benchmark runs only for a moment, to show that it works.
pub fn is_moment() -> bool {
    std::env::var_os("OPSCOPE_BENCH_MOMENT").is_some()
}

/// Returns how often to do something: `full` times, or `moment` times if each benchmark runs only for a moment.
pub fn times<T>(full: T, moment: T) -> T {
    if is_moment() { moment } else { full }
}
