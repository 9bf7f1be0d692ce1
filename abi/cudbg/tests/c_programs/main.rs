//! Clients in C and C++, compiled against the header and linked with the library. The program that they debug is this
//! one: its models are a few lines long, and compute what they should.

use std::path::Path;

use opscope_c_programs::{Language, Library, Program, Running};

mod cuda_gdb;
mod debuggee;
mod dispatches;
mod events;
mod library;
mod readme;
mod rules;
mod same_process;
mod stops;

/// A file of `tests/c` as a client.
fn client(source: impl AsRef<Path>) -> Program {
    let library = Library::Cudbg.files().to_str().expect("UTF-8");
    let program = Program::of(Library::Cudbg, source).with("LD_LIBRARY_PATH", library);
    // Functions of the table are called with structures of which only a part is looked at.
    program.options(&["-Wno-unused-function", "-l:libcudadebugger.so.1"])
}

/// Starts a client, with arguments and variables.
fn start(source: &str, language: Language, arguments: &[&str], variables: &[(&str, &str)]) -> Running {
    let client = client(source).arguments(arguments.iter().copied());
    variables.iter().fold(client, |client, (name, value)| client.with(name, *value)).start(language)
}
