//! Plans and their runs.

mod exact_model;
mod kernels;
mod limits;
mod optimised_model;
mod order;
mod plan_cache;
mod types;
mod upload;
mod written_graph;

pub(crate) use self::exact_model::ExactModel;
pub(crate) use self::limits::check_operators;
pub(crate) use self::optimised_model::OptimisedModel;
