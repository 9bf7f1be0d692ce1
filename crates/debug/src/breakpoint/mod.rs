//! Where and when a run stops.

mod error;
mod live;
mod mapping;
mod spec;
mod target;

pub use error::BreakpointError;
pub(crate) use live::Breakpoint;
pub use mapping::OperatorMapping;
pub use spec::{BreakpointChange, BreakpointInfo, BreakpointLocation, BreakpointSpec};
pub use target::{Target, TargetError, Watched};
