//! libcudadebugger.so.1: debuggers that were made for the CUDA Debugger API debug ONNX models with opscope, on any machine.

#![allow(missing_docs)]

pub mod addresses;
pub mod graph;
pub mod image;
pub mod layout;
