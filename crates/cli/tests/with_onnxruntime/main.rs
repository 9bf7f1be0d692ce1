//! The tests of the command that depend on an engine, once more with ONNX Runtime. Where its library is not found, they run with
//! tract again and say that they do; what differs between the engines asks `process::engine`.

// Each of these files is a program of its own, too, with modules of its own.
#![allow(clippy::duplicate_mod)]

#[path = "../compare.rs"]
mod compare;
#[path = "../debug/main.rs"]
mod debug;
#[path = "../dump.rs"]
mod dump;
#[path = "../dump_options.rs"]
mod dump_options;
#[path = "../isolate.rs"]
mod isolate;
