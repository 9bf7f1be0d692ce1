//! Reads an `.onnx` file as a graph: operators, values, attributes, initializers and external data.
//!
//! A model file may come from an untrusted source, so it is checked first: see [`Graph::load`].
//!
//! # Rooms
//!
//! | room | what |
//! |---|---|
//! | `lowered` | a model whose operators compute in fp16 or bf16, except some |
//! | `model_file` | a file that is changed and written again |
//! | `load` | from the bytes of a file to a checked graph; external data |
//! | `cost` | the operations and bytes of operators and of fused groups |
//! | `types` | the types and shapes of values that the file does not declare |
//! | `graph` | operators, values, attributes, modules, and their origins in a program |
//! | `einsum` | the equation of `Einsum` |
//! | `pattern` | patterns of names |
//! | `proto` | the messages of a file, to write a changed one |
//! | `error` | why a file cannot be loaded |

#![forbid(unsafe_code)]

mod cost;
mod einsum;
mod error;
mod graph;
mod load;
mod lowered;
mod model_file;
mod pattern;
#[allow(missing_docs)] // ONNX's own names; `onnx.proto` describes them.
pub mod proto;
mod types;

pub use cost::{CostGraph, GroupCost};
pub use error::{ExternalDataError, OnnxError};
pub use graph::{
    Attribute, Body, CodeOrigin, Dim, Graph, Module, Operator, OperatorId, Part, Producer, Source, SourceLine,
    TensorInfo, TracedCall, Value, ValueId, modules_of_operator, path_of_operator,
};
pub use load::LARGEST_FILE;
pub use load::external::data_file;
pub use lowered::Lowering;
pub use model_file::{ModelFile, WriteError};
pub use pattern::{Pattern, PatternError};
pub use types::ValueTypes;
