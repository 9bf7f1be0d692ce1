//! Runs of models, on the calling thread or in a stream.

mod config;
mod functions;
mod inputs;
mod outputs;
mod region;
mod run;
mod shapes;
