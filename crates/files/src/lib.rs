//! Opens and reads files from untrusted sources, and writes files that appear when they are complete.
//!
//! A recording, a dump, a model or a cache may come from anywhere, and any name in it may lead to a pipe, a device or
//! an endless file. Opening a pipe waits for its writer, and reading a device may never end. So every such file is
//! opened here: it must be regular, and the size of what is read into memory is bounded. `scripts/check-house` finds
//! files that are opened elsewhere.

#![forbid(unsafe_code)]

mod open;
mod read;
mod whole;

pub use open::{open_directory, open_given, open_regular, open_to_append};
pub use read::{read, read_text, read_to_end};
pub use whole::{PART, part_of, replace_whole, unpredictable, write_whole};
