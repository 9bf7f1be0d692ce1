//! Tracing: who wants to know what happens, and telling them.
//!
//! A call of a runtime's function goes through `call`: where one buffer is all that wants it, straight into that buffer; else
//! through `event`, which captures the contexts that are started when something begins, and tells them of its end, too.

mod call;
mod event;
mod retirement;
mod runtime;

pub use call::{ApiCall, put, traced};
pub use event::{Event, Phase, drop_if_interrupting};
pub use retirement::retire;
pub use runtime::announce_runtime;
