//! The runs in progress: their plans, where they stop, and the tensors of a stopped run.

mod active_run;
mod counts;
mod destination;
mod external_values;
mod found_operators;
mod location;
mod masks;
mod non_finite_values;
mod plan;
mod stop_table;
mod stopped_run;

pub(crate) use active_run::ActiveRun;
pub(crate) use destination::{Destination, Modules};
pub(crate) use external_values::FlawedInitializers;
pub(crate) use found_operators::FoundOperators;
pub use location::{FusedOperator, KernelInfo, Location, TensorInfo};
pub(crate) use non_finite_values::find_non_finite;
pub(crate) use plan::PlanInfo;
pub(crate) use stop_table::{Pause, Step, StopTable};
pub(crate) use stopped_run::Job;
pub use stopped_run::Stopped;
