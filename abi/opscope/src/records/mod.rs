//! Records: buffers and contexts, the batches that callbacks receive, and the program's own marks.

mod batch;
mod buffer;
mod buffer_handle;
mod context;
mod kernel;
mod kinds;
mod layout;
mod markers;
mod statistics;

pub use batch::*;
pub use buffer::*;
pub use buffer_handle::*;
pub use context::*;
pub use kernel::*;
pub use kinds::*;
pub use layout::*;
pub use markers::*;
pub use statistics::*;
