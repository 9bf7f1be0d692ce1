//! Graphs, plans and engines of a few lines, for the tests of instruments and of what runs models, and the files that
//! they write, compared with those that were looked at.
//!
//! Only the feature `testing` has this module, and only dev-dependencies switch it on.

mod engine;
mod graph;
mod kernels;
mod looping;
mod plan;
mod skipped;
mod snapshot;

pub use crate::assert_snapshot;
pub use engine::FakeEngine;
pub use graph::GraphBuilder;
pub use kernels::{added_kernel, kernel, kernels};
pub use looping::looping;
pub use plan::{FakePlan, failure, floats};
pub use skipped::skipped;
