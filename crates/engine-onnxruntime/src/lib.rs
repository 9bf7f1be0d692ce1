//! ONNX Runtime, loaded at run time, behind the border of `opscope-model`.
//!
//! * The library is found where users have it: see [`Library::find`]. A build needs none.
//! * `Optimised` runs are the library's own. Nodes and values get names of ours before the library sees them, so that what it
//!   makes of them leads back to the file.
//! * `Exact` runs have no optimisations, and a tap in front of every operator and one behind it: operators of our own that
//!   hand their inputs on without a copy, and show them to the observer on the way. Operators in the bodies of `If`, `Loop` and
//!   `Scan` have taps, too.
//!
//! # Rooms
//!
//! Each file or folder is a room, and imports from rooms below it only:
//!
//! | room | what |
//! |---|---|
//! | `engine` | the engine and its models |
//! | `plan` | optimised and exact plans, runs |
//! | `times` | the times of optimised runs, from the library's profiles |
//! | `attribution` | which operators of the file the nodes of an optimised graph stand for |
//! | `setup` | the options of sessions |
//! | `library` | where the library is, and what it can do |
//! | `taps` | the operators of our own, and what they do in a run |
//! | `rewrite` | how a file is rewritten before the library reads it |
//! | `api` | the library's C interface |
//! | `options` | how the library runs a model, in its own words |
//! | `proto` | the messages of an `.onnx` file |
//! | `errors` | errors of the library, in the file's words |
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
mod proto;
mod rewrite;
mod setup;
#[allow(unsafe_code)]
mod taps;
mod times;

pub use engine::OnnxRuntimeEngine;
pub use library::{Library, LibraryError, Skipped};
pub use options::{ExecutionMode, GraphOptimizationLevel, OnnxRuntimeOptions, Provider, UnknownWord};
