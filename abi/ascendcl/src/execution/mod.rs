//! Runs of models, on the calling thread or in a stream.

mod config;
mod functions;
mod inputs;
mod outputs;
#[allow(unsafe_code, reason = "it copies from and to memory that the program names")]
mod region;
mod run;
mod shapes;
