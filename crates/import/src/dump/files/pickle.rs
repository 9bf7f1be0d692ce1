//! A pickle, as far as it builds tensors and plain values. Nothing of it is ever executed.

mod build;
mod machine;
mod node;

pub(crate) use machine::{Pickle, PickleError};
pub(crate) use node::{Node, NodeId};
