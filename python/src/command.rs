//! The command, within the interpreter.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;

/// The exit code of a Rust program that panics.
const PANICKED: u8 = 101;

/// Runs the command with these words, the program's name first, and returns its exit code. `launcher` are the words that start it in
/// another process.
#[pyfunction]
pub fn run_command(py: Python<'_>, words: Vec<OsString>, launcher: Vec<OsString>) -> u8 {
    py.detach(|| catch_unwind(AssertUnwindSafe(|| opscope_cli::run(words, launcher))).unwrap_or(PANICKED))
}
