//! The sources of records: ROCTx runtimes and opscope's producers.

mod producers;
mod roctx;

use std::any::Any;

pub use producers::attach as attach_producer;

/// Adapts the sources to the records that the active session wants.
pub fn follow_targets() {
    producers::follow_targets();
    roctx::follow_targets();
}

/// Locks the locks of this room, and returns the guards.
pub fn locks() -> Vec<Box<dyn Any>> {
    vec![Box::new(producers::lock()), Box::new(roctx::lock())]
}
