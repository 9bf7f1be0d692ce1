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
//! | `processor` | which processor this is |
//! | `limits` | what a machine reaches, and which limit applies to some work |
//! | `error` | what can fail |

#![deny(unsafe_code)]

mod bandwidth;
mod cache;
mod compute;
mod error;
mod limits;
mod measure;
mod narrow;
mod processor;
mod repetition;
mod together;

pub use cache::{keep, kept, kept_or_measured};
pub use error::RooflineError;
pub use limits::{Bandwidth, Bound, ComputePeak, Limit, Roofline};
pub use measure::measure;
pub use processor::processor_name;
