//! Dumps: what is captured is decided when a model is loaded, and each chunk goes to callbacks, to a file, or nowhere.
//!
//! A tensor's way: the dumper's sink makes AscendCL's files of it (`model`), each chunk is copied into the memory that a callback gets
//! (`chunk`) and waits in one queue (`queue`), whose thread (`delivery`) calls the
//! callbacks (`slot`, `subscribers`) or writes the file (`files`).

mod arguments;
mod calls;
#[allow(unsafe_code, reason = "a struct with its data behind it")]
mod chunk;
mod counts;
mod delivery;
mod exceptions;
mod files;
mod model;
mod queue;
mod registration;
mod report;
mod settings;
mod slot;
mod statistics;
mod subscribers;
mod target;

pub use calls::{configure, finish};
pub use model::{instrument, loaded, unloaded, wants_exact};
pub use queue::wait_for_runs;
