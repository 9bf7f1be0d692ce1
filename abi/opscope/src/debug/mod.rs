//! The debugger: stop a run, look at its tensors, change them, and let it continue.

mod attachment;
mod breakpoint;
mod debugger;
mod event;
mod options;
mod resume;
mod stopped;

pub use attachment::*;
pub use breakpoint::*;
pub use debugger::*;
pub use event::*;
pub use options::*;
pub use resume::*;
pub use stopped::*;
