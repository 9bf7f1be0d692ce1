//! Information in both directions: versions and names for the program; its log lines and exception callbacks.

mod attributes;
mod exceptions;
#[allow(unsafe_code, reason = "a line is formatted by the C library")]
mod log;
mod name;
#[allow(unsafe_code, reason = "a function with a variable number of arguments is assembler")]
mod variadic;
mod versions;
