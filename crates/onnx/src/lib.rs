//! An `.onnx` file as a graph: operators, values, attributes, initializers and data beside the file.
//!
//! The file is checked before anything else sees it, because it comes from elsewhere: see [`Graph::load`].

#![forbid(unsafe_code)]

mod attribute;
mod build;
mod error;
mod external;
mod file_kind;
mod graph;
mod initializers;
mod load;
mod names;
mod order;
mod pattern;
mod proto;
mod shown;

pub use error::OnnxError;
pub use graph::{Attribute, Dim, Graph, Operator, OperatorId, Producer, Source, TensorInfo, Value, ValueId};
pub use pattern::{Pattern, PatternError};
pub use shown::{shown_size, shown_text};
