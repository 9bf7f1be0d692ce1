//! Puts the events of a trace together: which operator launched a kernel, which module it is in, and to which run it
//! belongs.
//!
//! A trace may be larger than the memory, and its events come in any order. So they are sorted on the disk, twice: by
//! thread and time, to see what is nested in what, and by run and time, as a recording has them. Between the two, the
//! work of devices is sorted by the ids that tie it to its calls.

mod devices;
mod finish;
mod host;
mod intake;
mod kernels;
mod names;
mod rows;
mod runs;
mod scopes;
mod sorter;
mod steps;
#[cfg(test)]
mod taken;
mod threads;
mod tracks;
mod written;

pub(crate) use self::finish::{Assembled, Devices, Source};
pub(crate) use self::intake::Assembler;
pub use self::steps::Steps;
#[cfg(test)]
pub(crate) use self::tracks::TrackOf;
