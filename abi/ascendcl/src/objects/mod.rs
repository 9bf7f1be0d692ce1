//! Objects that a program knows as pointers to incomplete structs.
//!
//! Such a pointer is a number that the library returns only once; there is no memory at its address. So the library
//! recognises NULL, garbage, and the pointers of freed objects and of other kinds of objects, without dereferencing
//! them.

mod table;

pub use table::Table;
