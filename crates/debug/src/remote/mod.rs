//! Debugging from another process: the protocol over a Unix socket, the program's side of it, and the debugger's.

pub mod client;
pub mod protocol;
pub mod server;
mod socket;
