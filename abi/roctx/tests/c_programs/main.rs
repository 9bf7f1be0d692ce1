//! Programs in C and C++, compiled against the headers, linked with the libraries, and run with and without a profiler.

use opscope_c_programs::{Library, Program};

mod functions;
mod library;
mod registration;
mod slot;

/// The libraries, as options of the linker.
const SDK: &str = "-lrocprofiler-sdk-roctx";
const OLDER: &str = "-lroctx64";

/// A file of `tests/c` as a program that is linked with one of the libraries.
fn program(source: &str, library: &str) -> Program {
    Program::of(Library::Roctx, source).options(&["-rdynamic", library])
}
