//! Feeds libraries that receive what this program runs, its *consumers*.
//!
//! A program calls [`attach`] once, when it starts. From then on every [`Session`](crate::Session) feeds the consumers:
//! they learn when a model is loaded and unloaded, and everything of its runs that they ask for. A consumer is called after all
//! instruments, on the threads that run models. Without a consumer a run costs one load and one branch more.
//!
//! `crates/producer` has the C table through which they are fed, and tells how to write a consumer.

mod facts;
mod model;
mod observer;

use std::ffi::CStr;
use std::path::PathBuf;

use opscope_producer::Search;
pub use opscope_producer::{LIBRARY_DIRECTORY, OfferedTool, Report, SkipReason, Skipped, ToolRefusal};

pub(crate) use model::FedModel;

/// Finds consumers and attaches those that are not attached yet. `program` is the name by which they know this program.
///
/// Consumers are loaded objects that export `opscope_attach_producer`, and libraries of known names in the directory that
/// `OPSCOPE_LIB_DIR` names, beside the program, and in `../lib`. A library that does not export that function is not loaded.
pub fn attach(program: &'static CStr) -> Report {
    attach_with_tools(program, Vec::new())
}

/// As [`attach`], and lets consumers run these tools: shared libraries that were made for the interface of a consumer, such as
/// AMD's rocprofiler-sdk. If one of the tools is taken by no consumer, nothing is attached; the report says why.
pub fn attach_with_tools(program: &'static CStr, tools: Vec<PathBuf>) -> Report {
    opscope_producer::attach(program, &Search { tools, ..Search::of_this_process() })
}
