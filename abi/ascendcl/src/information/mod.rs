//! Information in both directions: versions, features and names for the program, and the program's log lines and
//! exception callbacks.

mod attributes;
mod exceptions;
#[allow(unsafe_code, reason = "a line is formatted by the C library")]
mod log;
mod name;
#[allow(unsafe_code, reason = "a function with a variable number of arguments is assembler")]
mod variadic;
mod versions;
