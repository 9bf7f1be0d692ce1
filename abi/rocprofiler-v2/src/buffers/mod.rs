//! Buffers: records wait in a buffer of `opscope-trace` in their own format, and are packed without gaps when they are
//! delivered.

mod aside_records;
mod buffer;
pub mod current_batch;
mod delivery;
mod stored_records;

use std::any::Any;

pub use buffer::{Buffer, BufferCallback};
pub use stored_records::{Activity, Dispatch, Marker, drop_if_interrupting, give_up, next_number, next_record};

/// Locks the locks of this room, and returns the guards.
pub fn locks() -> Vec<Box<dyn Any>> {
    vec![Box::new(aside_records::lock()), Box::new(current_batch::lock()), Box::new(stored_records::lock_messages())]
}

/// Removes everything that belongs to the parent's other threads, and to records that the child does not have.
pub fn reset_in_child() {
    aside_records::lock().clear();
    current_batch::reset_in_child();
    stored_records::lock_messages().clear();
}
