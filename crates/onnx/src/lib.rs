//! An `.onnx` file as a graph: operators, values, attributes, initializers and data beside the file.
//!
//! The file is checked before anything else sees it, because it comes from elsewhere: see [`Graph::load`].

#![forbid(unsafe_code)]

mod cell;
mod error;
mod graph;
mod load;
mod pattern;
mod shown;

pub use cell::cell_text;
pub use error::OnnxError;
pub use graph::{Attribute, Dim, Graph, Operator, OperatorId, Producer, Source, TensorInfo, Value, ValueId};
pub use pattern::{Pattern, PatternError};
pub use shown::{shown_size, shown_text};
