//! What records are of: agents and a queue.

use crate::layout::Handle;

/// The processor.
pub const HOST: Handle = Handle(1);
/// The engine that runs models, which stands where tools look for a GPU.
pub const ENGINE: Handle = Handle(2);
/// The queue of all dispatches.
pub const QUEUE: Handle = Handle(1);
