//! Feeds *consumers*: libraries that receive what this program runs.
//!
//! A program calls [`attach`] once, when it starts. From then on every [`Session`](crate::Session) feeds the consumers:
//! they are notified when a model is loaded and unloaded, and of everything in its runs that they request. A consumer
//! is called after all instruments, on the threads that run models. Without a consumer, a run costs one additional load
//! and branch.
//!
//! `crates/producer` has the C table that feeds them, and describes how to write a consumer.

mod facts;
mod model;
mod observer;
mod open;

use std::ffi::CStr;
use std::path::PathBuf;

use opscope_producer::Search;
pub use opscope_producer::{LIBRARY_DIRECTORY, OfferedTool, Report, SkipReason, Skipped, ToolRefusal};

pub(crate) use model::FedModel;
pub use open::OpenConsumers;

/// Finds consumers, and attaches those that are not attached yet. `program` is the name of this program for the
/// consumers.
///
/// Consumers are loaded objects that export `opscope_attach_producer`, and libraries with known names in the directory
/// in `OPSCOPE_LIB_DIR`, beside the program, and in `../lib`. A library that does not export that function is not
/// loaded.
pub fn attach(program: &'static CStr) -> Report {
    attach_with_tools(program, Vec::new())
}

/// Works like [`attach`], and lets consumers run these tools: shared libraries for the interface of a consumer, such as
/// AMD's rocprofiler-sdk. If no consumer takes one of the tools, nothing is attached, and the report says why.
pub fn attach_with_tools(program: &'static CStr, tools: Vec<PathBuf>) -> Report {
    opscope_producer::attach(program, &Search { tools, ..Search::of_this_process() })
}
