//! Tools in C and C++, compiled against the headers, linked with the library and a ROCTx runtime, and run.

use opscope_c_programs::{DIRECTORY, Library, Program};

mod buffers;
mod callbacks;
mod correlation;
mod exceptions;
mod intercept;
mod library;
mod lifecycle;
mod markers;
mod names;
mod producer;
mod statuses;
mod threads;

/// The options that link a library or a program with the library of tools.
const SDK: &str = "-lrocprofiler-sdk";

/// A file of `tests/c` as a program, whose ROCTx functions are those of opscope's library.
fn program(source: &str) -> Program {
    tool(source).options(&["-lrocprofiler-sdk-roctx", SDK])
}

/// A program without ROCTx functions, that loads libraries from its own directory, too.
fn tool(source: &str) -> Program {
    let [sdk, roctx] = [Library::RocprofilerSdk, Library::Roctx].map(|library| library.files().display().to_string());
    let found = format!("{DIRECTORY}:{sdk}:{roctx}");
    let program = Program::of(Library::RocprofilerSdk, source).uses(Library::Roctx);
    program.option("-rdynamic").with("LD_LIBRARY_PATH", found)
}

/// Runs a file of `tests/c` with opscope's ROCTx runtime, and with one that is written as AMD's. It prints nothing.
#[track_caller]
fn run_with_both_runtimes(source: &str, arguments: &[&str]) {
    let other = tool(source).linked_beside("runtime.c", "libruntime.so", &["-rdynamic", SDK]).option(SDK);
    for program in [program(source), other] {
        program.arguments(arguments.iter().copied()).run_silently();
    }
}
