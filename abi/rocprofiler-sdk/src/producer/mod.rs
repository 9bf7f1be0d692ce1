//! What opscope's producers report: models as code objects with kernel symbols, dispatches, copies and memory.

mod attachment;
mod code_objects;
mod dispatches;
mod memory;
mod table;

use std::any::Any;

pub use table::{attach, connect_all, update_all};

/// Locks the locks of this room, and returns the guards.
pub fn locks() -> Vec<Box<dyn Any>> {
    vec![Box::new(attachment::lock()), Box::new(code_objects::lock()), opscope_producer::kernels_lock()]
}
