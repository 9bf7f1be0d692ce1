//! Files that someone else may have made.
//!
//! A recording, a dump, a model or a cache may come from anywhere, and any name in it may lead to a pipe, a device or a file without
//! an end. To open a pipe waits for its writer, and to read a device may never end. So every such file is opened here: it is regular,
//! and what is read into memory has a bound. `scripts/check-house` finds what is opened elsewhere.

#![forbid(unsafe_code)]

mod open;
mod read;

pub use open::{open_directory, open_given, open_regular, open_to_append};
pub use read::{read, read_text, read_to_end};
