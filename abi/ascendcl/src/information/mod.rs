//! What programs learn about the library, and what they tell it: versions, names, the log, exceptions.

mod attributes;
mod exceptions;
mod log;
mod name;
mod variadic;
mod versions;
