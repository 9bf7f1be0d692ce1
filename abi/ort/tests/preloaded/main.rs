//! Programs in C and C++ that use ONNX Runtime, and into which the library is preloaded.

mod attached;
mod captures;
mod debugger;
mod ends;
mod environments;
mod file;
mod forwarding;
mod non_finite;
mod support;
