//! Dumps: what is captured is decided when a model is loaded, and each chunk goes to the callback, to a file, or nowhere.
//!
//! A tensor's way: the dumper's sink makes AscendCL's files of it (`model`), each chunk is copied into the memory that the callback gets
//! (`chunk`) and waits in one queue (`queue`), whose thread calls the callback (`slot`) or writes the file (`files`).

mod calls;
mod chunk;
mod files;
mod model;
mod queue;
mod settings;
mod slot;
mod target;

pub use model::{instruments, loaded, unloaded, wants_exact};
pub use queue::flush;
