//! Services: what contexts trace, and where it goes.

mod configure;
mod routes;

pub use routes::{Buffered, Route, freeze, routes};
