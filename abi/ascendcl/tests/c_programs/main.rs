//! Programs in C and C++, compiled against the headers and linked with the library.

use std::path::Path;

use opscope_c_programs::{Library, Program};

mod dumps;
mod extras;
mod gears;
mod handover;
mod library;
mod models;
mod readme;
mod runtime;
mod seed;

/// A file of `tests/c` as a program that is linked with the library.
fn program(source: impl AsRef<Path>) -> Program {
    Program::of(Library::AscendCl, source).option("-lascendcl")
}
