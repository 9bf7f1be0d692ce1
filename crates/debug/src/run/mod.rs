//! The runs in progress: what the engine executes, where a run stops, and what can be seen there.

mod active;
mod control;
mod counts;
mod external;
mod location;
mod masks;
mod non_finite;
mod plan;
mod span;
mod stop_table;
mod stopped;

pub(crate) use active::ActiveRun;
pub(crate) use control::{Pause, Step};
pub(crate) use external::FlawedInitializers;
pub use location::{FusedOperator, KernelInfo, Location, TensorInfo};
pub(crate) use non_finite::find_non_finite;
pub(crate) use plan::PlanInfo;
pub(crate) use stop_table::StopTable;
pub(crate) use stopped::Job;
pub use stopped::Stopped;
