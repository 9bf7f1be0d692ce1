//! The engine on real files: what it computes, what it reports, and what it refuses.

mod attribution;
mod builder;
mod cases;
mod damaged;
mod files;
mod fixtures;
mod hostile;
mod limits;
mod live;
mod memory;
mod observers;
mod one_operator;
mod operators;
mod ours;
mod plans;
mod refusals;
mod rewrites;
mod values;
