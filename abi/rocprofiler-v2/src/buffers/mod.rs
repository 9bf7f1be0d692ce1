//! Buffers: records wait in one of `opscope-trace` in a form of their own, and are packed one behind the other when they are
//! delivered.

mod aside;
mod buffer;
mod current;
mod delivery;
mod numbers;
mod stored;

pub use buffer::{Buffer, BufferCallback, Leaving};
pub use current::Current;
pub use numbers::{next_number, next_record};
pub use stored::{Activity, Dispatch, Marker, give_up};
