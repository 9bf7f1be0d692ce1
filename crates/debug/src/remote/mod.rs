//! Debugging from another process: the protocol over a Unix socket, the program's side, and the debugger's side.

pub mod client;
pub(crate) mod protocol;
pub(crate) mod requests;
pub mod server;
mod socket;
