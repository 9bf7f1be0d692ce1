//! Dumps: the dumper, what it captures, and where that is delivered.

mod dumper;
mod sink;
mod stream;

pub use dumper::*;
pub use sink::*;
pub use stream::*;
