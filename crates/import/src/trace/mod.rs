//! Traces: a reader per format, and the assembler that all of them feed.

mod assemble;
mod event;
mod import;
mod json;

pub use self::assemble::Steps;
pub use self::import::{ImportedTrace, TraceOptions, TracedDevice, import_trace};
