//! Services: what contexts trace, and where the records go.

mod configure;
mod routes;

use std::any::Any;

pub use routes::{Buffered, Route, direct, find_direct, freeze, routes};

/// Locks the locks of this room, and returns the guards.
pub fn locks() -> Vec<Box<dyn Any>> {
    vec![Box::new(routes::lock())]
}
