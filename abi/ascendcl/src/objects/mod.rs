//! Objects that a program knows as pointers to incomplete structs.
//!
//! Such a pointer is a number that the library gave out and never gives out again; nothing lies at its address. So NULL, garbage, the
//! pointer of a freed object and that of another kind are all found out without being read.

mod table;

pub use table::Table;
