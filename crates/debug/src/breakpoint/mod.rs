//! Breakpoints: where and when a run stops.

mod error;
mod live_breakpoint;
mod mapping;
mod spec;
mod target;

pub use error::BreakpointError;
pub(crate) use live_breakpoint::Breakpoint;
pub use mapping::OperatorMapping;
pub use spec::{BreakpointChange, BreakpointInfo, BreakpointLocation, BreakpointSpec};
pub use target::{Target, TargetError, Watched};
