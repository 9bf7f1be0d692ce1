//! Where records come from: ROCTx runtimes and opscope's producers.

mod producers;
mod roctx;

use std::any::Any;

pub use producers::attach as attach_producer;

/// Follows a change of what the active session wants.
pub fn follow_targets() {
    producers::follow_targets();
    roctx::follow_targets();
}

/// Returns the locks of this room, locked.
pub fn locks() -> Vec<Box<dyn Any>> {
    vec![Box::new(producers::lock()), Box::new(roctx::lock())]
}
