//! Traces of other tools as recordings.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use opscope_import::{ImportError, ImportedTrace as Imported, Steps, TraceOptions};
use pyo3::prelude::*;

use crate::failure::{Failure, input};
use crate::waiting::in_background;

/// What became of a trace.
#[pyclass(module = "opscope", frozen)]
pub struct ImportedTrace {
    trace: PathBuf,
    imported: Imported,
}

/// Imports a trace into a new directory, which becomes a recording.
#[pyfunction]
#[pyo3(signature = (trace, directory, *, run))]
pub fn import_trace(py: Python<'_>, trace: PathBuf, directory: PathBuf, run: Option<&str>) -> PyResult<ImportedTrace> {
    let steps = match run {
        Some(text) => Steps::new(text).map_err(|error| input(format!("run is no name and no pattern: {error}")))?,
        None => Steps::default(),
    };
    let cancel = Arc::new(AtomicBool::new(false));
    let options = TraceOptions { steps, cancel: Arc::clone(&cancel), progress: None };
    let source = trace.clone();
    let work = move || Ok(opscope_import::import_trace(&source, &directory, &options)?);
    Ok(ImportedTrace { trace, imported: in_background(py, Some(cancel), work)? })
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::Unknown { .. } => Self::input(error),
            ImportError::Cancelled => Self::any(error),
            _ => Self::file(error),
        }
    }
}

#[pymethods]
impl ImportedTrace {
    /// The recording.
    #[getter]
    fn directory(&self) -> PathBuf {
        self.imported.directory.clone()
    }

    /// The format of the trace.
    #[getter]
    fn format(&self) -> &str {
        &self.imported.format
    }

    /// How many events the trace has.
    #[getter]
    fn events(&self) -> u64 {
        self.imported.events
    }

    /// How many of them are in the recording.
    #[getter]
    fn imported(&self) -> u64 {
        self.imported.imported
    }

    /// How many runs there are.
    #[getter]
    fn runs(&self) -> usize {
        self.imported.runs
    }

    /// Whether the whole trace was read.
    #[getter]
    fn complete(&self) -> bool {
        self.imported.damage.is_empty()
    }

    /// What is damaged or missing, a sentence each.
    #[getter]
    fn incomplete_because(&self) -> Vec<String> {
        self.imported.damage.clone()
    }

    /// The entry of the document that the command prints.
    fn json(&self) -> String {
        self.imported.json(&self.trace).to_string()
    }

    fn __repr__(&self) -> String {
        let Imported { directory, imported, events, .. } = &self.imported;
        format!("<opscope.ImportedTrace {}: {imported} of {events} events>", directory.display())
    }
}
