//! What opscope wrote, by its path.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::model::Profile;
use crate::stored::Dump;

/// Opens a dump or a recording.
#[pyfunction]
pub fn open_path(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyAny>> {
    if path.join("records.bin").is_file() {
        return Ok(Profile::open(py, path)?.into_pyobject(py)?.into_any());
    }
    let dump = py.detach(|| Dump::open(&path))?;
    Ok(dump.into_pyobject(py)?.into_any())
}
