//! ONNX Runtime, loaded at run time, behind the border of `opscope-model`.
//!
//! * The library is looked for where users install it: see [`Library::find`]. A build needs none.
//! * `Optimised` runs are the library's own. Nodes and values are renamed before the library sees them, so that
//!   everything it derives from them leads back to the file.
//! * `Exact` runs have no optimisations, and a tap in front of every operator and one behind it: custom operators that
//!   pass their inputs on without a copy, and show them to the observer. Operators in the bodies of `If`, `Loop` and
//!   `Scan` also have taps.
//!
//! # Rooms
//!
//! Each file or folder is a room. It imports only from the rooms below it:
//!
//! | room | what |
//! |---|---|
//! | `engine` | the engine and its models |
//! | `program` | sessions, options and values of a program that uses the library itself |
//! | `plan` | optimised and exact plans, runs |
//! | `times` | the times of optimised runs, from the library's profiles |
//! | `attribution` | which operators of the file the nodes of an optimised graph stand for |
//! | `setup` | the options of sessions |
//! | `library` | where the library is, and what it can do |
//! | `taps` | the custom operators, and what they do in a run |
//! | `rewrite` | how a file is rewritten before the library reads it |
//! | `api` | the library's C interface |
//! | `options` | how the library runs a model, in its own terms |
//! | `proto` | the messages of an `.onnx` file |
//! | `errors` | errors of the library, with the file's names; its reasons for refusing |
//! | `names` | names that lead back to the file |

#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod api;
mod attribution;
mod engine;
mod errors;
#[allow(unsafe_code)]
mod library;
mod names;
mod options;
mod plan;
#[allow(unsafe_code)]
mod program;
mod proto;
mod rewrite;
mod setup;
#[allow(unsafe_code)]
mod taps;
mod times;

pub use api::HeldEnvironment;
pub use engine::OnnxRuntimeEngine;
pub use errors::Refusal;
pub use library::{Library, LibraryError, Skipped};
pub use options::{ExecutionMode, GraphOptimizationLevel, OnnxRuntimeOptions, Provider, UnknownWord};
pub use program::{KeptValue, ProgramOptions, ProgramOutputs, ProgramValue, ProgramValues};
