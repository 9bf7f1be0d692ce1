//! Traces: a reader per format, and the assembler that all of them feed.

mod assemble;
mod event;
mod format;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod import;
mod json;
mod names;
mod nsys;
mod perfetto;
mod rocpd;
mod rocprof_csv;
mod sqlite;
#[cfg(test)]
mod tests;

pub use self::assemble::Steps;
pub use self::format::is_foreign_trace;
pub use self::import::{ImportedTrace, TraceOptions, TracedDevice, import_trace};
