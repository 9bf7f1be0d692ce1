//! Reads an `.onnx` file as a graph: operators, values, attributes, initializers and external data.
//!
//! A model file may come from an untrusted source, so it is checked first: see [`Graph::load`].

#![forbid(unsafe_code)]

mod cost;
mod einsum;
mod error;
mod graph;
mod load;
mod pattern;
mod types;

pub use cost::{CostGraph, GroupCost};
pub use error::OnnxError;
pub use graph::{Attribute, Body, Dim, Graph, Operator, OperatorId, Producer, Source, TensorInfo, Value, ValueId};
pub use pattern::{Pattern, PatternError};
pub use types::ValueTypes;
