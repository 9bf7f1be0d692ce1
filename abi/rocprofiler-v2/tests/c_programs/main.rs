//! Tools in C and C++, compiled against the headers, linked with the library, and each run in its own process.

use opscope_c_programs::{Library, Program};

mod buffers;
mod damage;
mod library;
mod producers;
mod roctx;
mod sessions;

/// A file of `tests/c` as a program that is linked with the library, and with opscope's ROCTx runtime, whether it calls
/// that or not.
fn program(source: &str) -> Program {
    without_runtime(source).option("-Wl,--no-as-needed,-lroctx64").with("LD_LIBRARY_PATH", found())
}

/// A program that is not linked with a ROCTx runtime.
fn without_runtime(source: &str) -> Program {
    let program = Program::of(Library::RocprofilerV2, source).uses(Library::Roctx);
    program.options(&["-rdynamic", "-lrocprofiler64v2"])
}

/// Returns the path in which the system finds the library and the ROCTx runtime.
fn found() -> String {
    let [v2, roctx] = [Library::RocprofilerV2, Library::Roctx].map(|library| library.files().display().to_string());
    format!("{v2}:{roctx}")
}
