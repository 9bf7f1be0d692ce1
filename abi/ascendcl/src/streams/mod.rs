//! Streams: queues of work. Each stream does its work in order, on its own thread.

mod callback;
#[allow(unsafe_code, reason = "all latches have one lock")]
mod program;
mod queue;
mod stream;
mod worker;

pub use callback::{as_callback, refuse_in_callback};
pub use program::{Latch, Patience};
pub use stream::Stream;
