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
pub use graph::{
    Attribute, Body, CodeOrigin, Dim, Graph, Module, Operator, OperatorId, Producer, Source, SourceLine, TensorInfo,
    Value, ValueId, path_of_operator,
};
pub use load::external::data_file;
pub use pattern::{Pattern, PatternError};
pub use types::ValueTypes;
