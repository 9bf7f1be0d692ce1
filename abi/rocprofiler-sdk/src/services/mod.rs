//! Services: what contexts trace, and where it goes.

mod configure;
mod routes;

use std::any::Any;

pub use routes::{Buffered, Route, direct, find_direct, freeze, routes};

/// Returns the locks of this room, locked.
pub fn locks() -> Vec<Box<dyn Any>> {
    vec![Box::new(routes::lock())]
}
