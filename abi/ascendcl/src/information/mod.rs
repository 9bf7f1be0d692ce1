//! What programs learn about the library, and what they tell it: versions, names, the log, exceptions.

mod attributes;
mod exceptions;
#[allow(unsafe_code, reason = "a line is formatted by the C library")]
mod log;
mod name;
#[allow(unsafe_code, reason = "a function with a variable number of arguments is assembler")]
mod variadic;
mod versions;
