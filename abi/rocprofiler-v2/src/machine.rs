//! The agents and the queue that records refer to.

use crate::layout::Handle;

/// The processor.
pub const HOST: Handle = Handle(1);
/// The engine that runs models, which tools see in place of a GPU.
pub const ENGINE: Handle = Handle(2);
/// The queue of all dispatches.
pub const QUEUE: Handle = Handle(1);
