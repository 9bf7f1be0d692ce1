//! Objects that a program knows as pointers to incomplete structs.
//!
//! Such a pointer is a number that the library returns only once; there is no memory at its address. So NULL, garbage,
//! the pointer of a freed object and that of another kind are all recognised without being dereferenced.

mod table;

pub use table::Table;
