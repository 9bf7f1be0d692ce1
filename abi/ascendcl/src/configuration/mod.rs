//! How often the library was initialized, and the file that says what to do.

mod file;
mod initialized;

pub use file::{parse, read};
pub use initialized::{INITIALIZED, check_initialized, not_initialized};
