//! Runs the tests of the command that depend on an engine again, with ONNX Runtime. If its library is not found, they
//! run with tract again and say so. A test whose expectations depend on the engine asks `process::engine`.

// Each of these files is also a program of its own, with modules of its own.
#![allow(clippy::duplicate_mod)]

#[path = "../bad_input.rs"]
mod bad_input;
#[path = "../compare.rs"]
mod compare;
#[path = "../compare_inputs.rs"]
mod compare_inputs;
#[path = "../compare_precisions.rs"]
mod compare_precisions;
#[path = "../consumers.rs"]
mod consumers;
#[path = "../debug/main.rs"]
mod debug;
#[path = "../debug_attach.rs"]
mod debug_attach;
#[path = "../debug_server.rs"]
mod debug_server;
#[path = "../debug_terminal.rs"]
mod debug_terminal;
#[path = "../dump.rs"]
mod dump;
#[path = "../dump_options.rs"]
mod dump_options;
#[path = "../hostile_names.rs"]
mod hostile_names;
#[path = "../inspect.rs"]
mod inspect;
#[path = "../interruption.rs"]
mod interruption;
#[path = "../isolate.rs"]
mod isolate;
#[path = "../options.rs"]
mod options;
#[path = "../profiler.rs"]
mod profiler;
