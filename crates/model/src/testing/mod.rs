//! Graphs, plans and engines of a few lines, for the tests of instruments and of code that runs models, and comparisons
//! of the files that they write with reviewed ones.
//!
//! This module exists only with the feature `testing`, which only dev-dependencies enable.

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
