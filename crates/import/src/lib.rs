//! Reads what other tools wrote: their traces become recordings, their dumps become dumps.
//!
//! [`import_trace`] reads a trace of `torch.profiler`, ONNX Runtime, Nsight Systems, rocprofv3, Perfetto or any other
//! in the Chrome trace event format. [`import_dump`] reads a directory or file of tensors or of their statistics. What
//! a file is, is found by its content. `docs/import.md` describes what becomes of each kind of event.
//!
//! # Rooms
//!
//! Each file or folder is a room, and imports only from rooms below it:
//!
//! | room | what |
//! |---|---|
//! | `trace` | traces: a reader per format, and the assembler that all of them feed |
//! | `dump` | dumps: a reader per format |
//! | `error` | what can fail |

#![forbid(unsafe_code)]

mod dump;
mod error;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod trace;

pub use dump::{DumpOptions, DumpProgress, ImportedDump, import_dump, is_foreign_dump};
pub use error::ImportError;
pub use trace::{ImportedTrace, Steps, TraceOptions, TracedDevice, import_trace, is_foreign_trace};
