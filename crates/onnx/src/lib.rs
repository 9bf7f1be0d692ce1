//! An `.onnx` file as a graph: operators, values, attributes, initializers and data beside the file.

#![forbid(unsafe_code)]

mod graph;

pub use graph::{Attribute, Dim, Graph, Operator, OperatorId, Producer, Source, TensorInfo, Value, ValueId};
