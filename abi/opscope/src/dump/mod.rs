//! Dumps: the dumper, what it captures, and where that is delivered.

mod dumper;
mod report;
mod request;
mod sink;
mod stream;

pub use dumper::*;
pub use report::*;
pub use request::*;
pub use sink::*;
pub use stream::*;
