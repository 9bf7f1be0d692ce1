//! Plans and their runs.

mod exact;
mod kernels;
mod limits;
mod made;
mod memory;
mod optimised;
mod order;
mod types;
mod upload;
mod written;

pub(crate) use self::exact::ExactModel;
pub(crate) use self::limits::check_operators;
pub(crate) use self::optimised::OptimisedModel;
