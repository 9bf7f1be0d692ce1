//! Tracing: reports events to the contexts that want them.
//!
//! A call of a runtime's function goes through `call`. If it has to be recorded in one buffer only, it goes straight
//! there. Otherwise it goes through `event`, which captures the contexts that are started when something begins, and
//! also reports its end to them.

mod call;
mod event;

pub use call::{ApiCall, put, traced};
pub use event::{Event, Phase, announce_runtime, drop_if_interrupting, retire};
