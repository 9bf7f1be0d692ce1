//! Buffers: records wait in one of `opscope-trace` in a form of their own, and are packed one behind the other when they are
//! delivered.

mod aside;
mod buffer;
pub mod current;
mod delivery;
mod messages;
mod numbers;
mod stored;

use std::any::Any;

pub use buffer::{Buffer, BufferCallback};
pub use numbers::{next_number, next_record};
pub use stored::{Activity, Dispatch, Marker, drop_if_interrupting, give_up};

/// Returns the locks of this room, locked.
pub fn locks() -> Vec<Box<dyn Any>> {
    vec![Box::new(aside::lock()), Box::new(current::lock()), Box::new(messages::lock())]
}

/// Forgets what belongs to the parent's other threads and to records that the child does not have.
pub fn reset_in_child() {
    aside::lock().clear();
    current::reset_in_child();
    messages::lock().clear();
}
