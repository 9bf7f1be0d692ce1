//! Debugging from another process: the protocol over a Unix socket, the program's side, and the debugger's side.

pub mod client;
pub mod protocol;
pub mod server;
mod socket;
