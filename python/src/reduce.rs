//! The smallest model that still fails.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use opscope::engine::{EngineName, EngineSpec};
use opscope::onnx::Graph;
use opscope_job::inputs::{Data, InputSpec, ShapeSpec};
use opscope_job::reduce::{Best, CheckSpec, Fails, ReduceError, ReduceHooks, ReduceSpec, Reduced as Smaller, reduce};
use pyo3::prelude::*;

use crate::failure::{Failure, input};
use crate::inputs::tensors;
use crate::waiting::in_background;

/// A model that fails in the same way as a larger one.
#[pyclass(module = "opscope", frozen)]
pub struct Reduced {
    smaller: Smaller,
}

/// Finds the smallest model that fails in the same way. `launcher` are the words that start the command in another process.
#[pyfunction]
#[pyo3(signature = (model, inputs, *, fails, output, anonymise, overwrite, budget, engine, threads, library, seed, launcher))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub fn reduce_model(
    py: Python<'_>,
    model: PathBuf,
    inputs: Option<&Bound<'_, PyAny>>,
    fails: &str,
    output: PathBuf,
    anonymise: bool,
    overwrite: bool,
    budget: Option<f64>,
    engine: &str,
    threads: usize,
    library: Option<PathBuf>,
    seed: u64,
    launcher: Vec<String>,
) -> PyResult<Reduced> {
    let fails: Fails = fails.parse().map_err(Failure::input)?;
    let name: EngineName = engine.parse().map_err(Failure::input)?;
    let threads = NonZeroUsize::new(threads).ok_or_else(|| input("threads is a number from 1"))?;
    let budget = budget.map(Duration::try_from_secs_f64).transpose().map_err(Failure::input)?;
    let inputs = match inputs {
        None => InputSpec::Generated(Data::Random(seed)),
        Some(given) => InputSpec::Given(tensors(&Graph::load(&model).map_err(Failure::from)?, given)?),
    };
    let mut words = vec![format!("--engine-threads={threads}"), format!("--engine={name}")];
    words.extend(library.as_ref().map(|library| format!("--engine-library={}", library.display())));
    let engine = EngineSpec { name, library, ..EngineSpec::default() };
    let check = CheckSpec { fails, engine, threads, words };
    let shapes = ShapeSpec::Smallest;
    let spec = ReduceSpec { model, inputs, shapes, check, output, overwrite, anonymise, budget };
    let cancel = Arc::new(AtomicBool::new(false));
    let work = {
        let cancel = Arc::clone(&cancel);
        move || {
            let command = || {
                let mut command = Command::new(launcher.first().map_or("opscope", String::as_str));
                command.args(launcher.iter().skip(1));
                Ok(command)
            };
            let hooks = ReduceHooks { command: &command, cancel: &cancel, progress: &|_| {}, best: &Best::default() };
            Ok(reduce(&spec, &hooks)?)
        }
    };
    Ok(Reduced { smaller: in_background(py, Some(cancel), work)? })
}

impl From<ReduceError> for Failure {
    fn from(error: ReduceError) -> Self {
        match error {
            ReduceError::Model(_) => Self::model(error),
            ReduceError::DoesNotFail { .. } | ReduceError::Input(_) | ReduceError::IsTheModel(_) => Self::input(error),
            ReduceError::Exists(_) | ReduceError::Write { .. } => Self::file(error),
            error => Self::any(error),
        }
    }
}

#[pymethods]
impl Reduced {
    /// The file of the model.
    #[getter]
    fn model(&self) -> PathBuf {
        self.smaller.written.model.clone()
    }

    /// The file of its inputs; None if it takes none.
    #[getter]
    fn inputs(&self) -> Option<PathBuf> {
        self.smaller.written.inputs.clone()
    }

    /// How many operators there were, and how many are left.
    #[getter]
    fn operators(&self) -> (usize, usize) {
        self.smaller.operators
    }

    /// The types of the operators that are left.
    #[getter]
    fn op_types(&self) -> Vec<String> {
        self.smaller.operator_types.clone()
    }

    /// How the whole model failed, in one sentence.
    #[getter]
    fn failure(&self) -> &str {
        &self.smaller.failure.text
    }

    /// Whether the search came to its end, and nothing of the original had to stay.
    #[getter]
    fn complete(&self) -> bool {
        self.smaller.is_complete()
    }

    /// What of the original stays although it was to be replaced, a sentence each.
    #[getter]
    fn kept(&self) -> Vec<String> {
        self.smaller.kept.iter().map(ToString::to_string).collect()
    }

    /// A shell command that shows the failure.
    #[getter]
    fn command(&self) -> &str {
        &self.smaller.command
    }

    /// The document that the command prints.
    fn json(&self) -> String {
        self.smaller.json().to_string()
    }

    fn __str__(&self) -> String {
        self.smaller.text()
    }

    fn __repr__(&self) -> String {
        let (before, after) = self.smaller.operators;
        format!("<opscope.Reduced {}: {before} operators -> {after}>", self.smaller.written.model.display())
    }
}
