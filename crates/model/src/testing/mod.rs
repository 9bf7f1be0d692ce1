//! Graphs, plans and engines of a few lines, for the tests of instruments and of what runs models, and the files that
//! they write, compared with those that were looked at.
//!
//! Only the feature `testing` has this module, and only dev-dependencies switch it on.

mod engine;
mod graph;
mod kernels;
mod plan;
mod snapshot;

pub use crate::assert_snapshot;
pub use engine::FakeEngine;
pub use graph::GraphBuilder;
pub use kernels::{kernel, kernels};
pub use plan::{FakePlan, failure, floats};
