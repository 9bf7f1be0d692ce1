//! Buffers: where records wait for the tool's callback, and the threads that call it.

mod busy;
mod create;
mod delivery;
mod list;
mod policy;
mod threads;

use std::any::Any;

pub use list::{Buffer, end_all_of, finalize_all, find, flush_all_of};
pub use threads::default_thread;

/// Locks the locks of this room, and returns the guards.
pub fn locks() -> Vec<Box<dyn Any>> {
    vec![Box::new(list::lock()), Box::new(threads::lock())]
}
