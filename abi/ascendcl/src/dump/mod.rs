//! Dumps. The settings at the time when a model is loaded decide what is captured of it. Each chunk goes to callbacks,
//! to a file, or nowhere.
//!
//! A tensor passes through these modules: the dumper's sink (`model`) converts it into AscendCL's files. Each chunk is
//! copied into memory in the form that a callback receives (`chunk`), and is pushed into the only queue (`queue`). The
//! queue's thread (`delivery`) calls the callbacks (`slot`, `subscribers`) or writes the file.

mod calls;
#[allow(unsafe_code, reason = "a struct with its data behind it")]
mod chunk;
mod delivery;
mod exceptions;
mod model;
mod queue;
mod settings;
mod slot;
mod statistics;
mod subscribers;

pub use calls::{configure, finish};
pub use model::{instrument, loaded, unloaded, wants_exact};
pub use queue::wait_for_runs;
