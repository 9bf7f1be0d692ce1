//! What this machine reaches: how much it computes in a second, by element type, and how much it reads, by the size of
//! the data. It is measured once, in about a second, and stored in a cache directory.
//!
//! ```no_run
//! # use std::num::NonZeroUsize;
//! let directory = std::path::Path::new("/home/me/.cache/opscope");
//! let machine = opscope_roofline::kept_or_measured(Some(directory), NonZeroUsize::MIN)?;
//! println!("{:?} GFLOP/s", machine.peak("float32"));
//! # Ok::<(), opscope_roofline::RooflineError>(())
//! ```
//!
//! # Rooms
//!
//! Each file is a room, and imports only from rooms below it:
//!
//! | room | what |
//! |---|---|
//! | `cache` | the file that stores a measurement |
//! | `measure` | the measurement of a whole machine |
//! | `compute` | multiply-add peaks |
//! | `narrow` | multiply-adds of 8-bit integers and `bfloat16` |
//! | `repetition` | the repeated work that a peak is measured with |
//! | `bandwidth` | how fast data is read |
//! | `together` | runs the same work on several threads at the same time |
//! | `limits` | which processor this is, what a machine reaches, which limit applies to some work, and what can fail |

#![deny(unsafe_code)]

mod bandwidth;
mod cache;
mod compute;
mod limits;
mod measure;
mod narrow;
mod repetition;
mod together;

pub use cache::{keep, kept, kept_or_measured};
pub use limits::{Bandwidth, Bound, ComputePeak, Limit, Roofline, RooflineError, processor_name};
pub use measure::measure;
