//! Buffers: where records wait for the tool's callback, and the threads that call it.

mod create;
mod delivery;
mod list;
mod policy;
mod threads;

pub use list::{Buffer, finalize_all, find, flush_all_of};
pub use threads::default_thread;
