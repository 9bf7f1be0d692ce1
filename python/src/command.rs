//! The command, within the interpreter, and opening what it wrote, by its path.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use pyo3::prelude::*;

use crate::model::Profile;
use crate::stored::Dump;

/// The exit code of a Rust program that panics.
const PANICKED: u8 = 101;

/// Runs the command with these words, the program's name first, and returns its exit code. `launcher` are the words that start it in
/// another process.
#[pyfunction]
pub fn run_command(py: Python<'_>, words: Vec<OsString>, launcher: Vec<OsString>) -> u8 {
    py.detach(|| catch_unwind(AssertUnwindSafe(|| opscope_cli::run(words, launcher))).unwrap_or(PANICKED))
}

/// Opens a dump or a recording.
#[pyfunction]
pub fn open_path(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyAny>> {
    if path.join("records.bin").is_file() {
        return Ok(Profile::open(py, path)?.into_pyobject(py)?.into_any());
    }
    let dump = py.detach(|| Dump::open(&path))?;
    Ok(dump.into_pyobject(py)?.into_any())
}
