//! The debugger, which stops runs, shows their tensors, replaces them, and lets the runs continue.

mod attachment;
mod breakpoint;
mod debugger;
mod event;
mod stopped;

pub use attachment::*;
pub use breakpoint::*;
pub use debugger::*;
pub use event::*;
pub use stopped::*;
