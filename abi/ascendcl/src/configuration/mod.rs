//! How often the library was initialized, and its configuration file.

mod file;
mod initialization;

pub use file::{parse, read};
pub use initialization::{INITIALIZED, check_initialized, not_initialized};
