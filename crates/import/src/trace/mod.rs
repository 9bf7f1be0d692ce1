//! Traces: a reader per format, and the assembler that all of them feed.

mod assemble;
mod event;
mod format;
mod names;
mod nsys;
mod perfetto;
mod rocpd;
mod rocprof_csv;
mod sqlite;
