//! Reads an `.onnx` file as a graph: operators, values, attributes, initializers and external data.
//!
//! A model file may come from an untrusted source, so it is checked first: see [`Graph::load`].

#![forbid(unsafe_code)]

mod cell;
mod error;
mod graph;
mod load;
mod pattern;
mod shown;
mod table;

pub use cell::cell_text;
pub use error::OnnxError;
pub use graph::{Attribute, Dim, Graph, Operator, OperatorId, Producer, Source, TensorInfo, Value, ValueId};
pub use pattern::{Pattern, PatternError};
pub use shown::{shown_size, shown_text};
pub use table::{Column, TextTable};
