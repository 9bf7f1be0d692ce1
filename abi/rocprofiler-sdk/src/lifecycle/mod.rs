//! The life of tools: they are found and initialized when the first runtime or producer registers itself, and finalized
//! when the process exits.

mod clients;
mod entry;
mod finalize;
mod find;
mod forks;
mod initialize;
#[allow(unsafe_code, reason = "it is assembler")]
mod linked_tool;
