//! Sessions with their filters and buffers, and where the records of the active one go.

mod filter;
mod list;
pub mod targets;

use std::any::Any;

pub use filter::{API_TRACE, Filter, FilterKind};
pub use list::{Session, find_buffer, find_current, put_slowly, with_session, with_sessions};
pub use targets::{SyncCallback, Wanted};

/// Returns the locks of this room, locked.
pub fn locks() -> Vec<Box<dyn Any>> {
    vec![Box::new(list::lock())]
}
