//! Sessions with their filters and buffers, and the destinations of the active session's records.

mod filter;
mod list;
pub mod sync;
pub mod targets;

use std::any::Any;

pub use filter::{API_TRACE, Filter, FilterKind};
pub use list::{Session, find_buffer, put_slowly, with_session, with_sessions};
pub use sync::SyncCallback;
pub use targets::Wanted;

/// Locks the locks of this room, and returns the guards.
pub fn locks() -> Vec<Box<dyn Any>> {
    vec![Box::new(list::lock()), Box::new(sync::lock())]
}

/// Removes everything that belongs to the parent's other threads, and to records that the child does not have.
pub fn reset_in_child() {
    list::reset_in_child();
    sync::reset_in_child();
}
