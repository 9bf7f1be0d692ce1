//! Finds the smallest model that still fails.
//!
//! Delta debugging over the operators of a model: every set of operators is a model, whose missing inputs are values of
//! a run of the whole one. Then dimensions, attributes and data become smaller. Each candidate is really run.

mod anonymise;
mod case;
mod check;
mod cut;
mod error;
mod fails;
mod report;
mod search;
mod shrink;
mod written;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use opscope::Session;
use opscope::engine::{EngineName, EngineSpec};
use opscope_model::{Fidelity, LoadOptions};
use opscope_onnx::proto::ModelProto;
use opscope_onnx::{Graph, LARGEST_FILE, OnnxError};
use prost::Message;

use case::Case;
pub use check::{Best, CheckSpec, Outcome, Progress, ReduceHooks};
use check::{Checker, check_once};
pub use error::ReduceError;
pub use fails::{Fails, Failure, Symptom, UnknownFailure};
pub use report::{Kept, Reduced};
pub use written::{WrittenCase, inputs_beside};

use crate::inputs::{InputSpec, ShapeSpec};

/// A model that fails, and what is wanted of the smaller one.
#[derive(Debug, Clone)]
pub struct ReduceSpec {
    /// The model.
    pub model: PathBuf,
    /// Its inputs.
    pub inputs: InputSpec,
    /// The shapes of its inputs.
    pub shapes: ShapeSpec,
    /// How it is run, and how it fails.
    pub check: CheckSpec,
    /// The file of the smaller model. Its inputs are written beside it.
    pub output: PathBuf,
    /// Whether files at these paths are replaced.
    pub overwrite: bool,
    /// Whether names and data are replaced.
    pub anonymise: bool,
    /// How long the search may take.
    pub budget: Option<Duration>,
}

/// Finds the smallest model that fails in the same way, and writes it with its inputs.
///
/// # Errors
/// Returns an error if the model does not fail in this way, or the result cannot be written.
pub fn reduce(spec: &ReduceSpec, hooks: &ReduceHooks<'_>) -> Result<Reduced, ReduceError> {
    let start = Instant::now();
    refuse_taken(spec)?;
    let (whole, graph) = read(spec)?;
    let mut checker = Checker::new(&spec.check, hooks, spec.budget).map_err(ReduceError::Check)?;
    let failure = match checker.begin(&whole).map_err(ReduceError::Check)? {
        Outcome::Fails(failure) => failure,
        Outcome::Otherwise(_) if checker.is_cancelled() => return Err(ReduceError::Cancelled),
        Outcome::Otherwise(instead) => {
            let (model, fails) = (spec.model.clone(), spec.check.fails.clone());
            return Err(ReduceError::DoesNotFail { model, fails, instead });
        }
    };
    let session = graph.as_ref().and_then(|graph| exact_session(graph, &spec.check));
    let mut cutter = cut::Cutter::new(whole.clone(), graph.clone(), session);
    let place = graph.as_ref().zip(failure.operator.as_ref()).and_then(|(graph, name)| cutter.place(graph, name));
    let part = search::smallest_part(&mut cutter, &mut checker, place);
    drop(cutter);
    let mut smallest = match part {
        Some(part) => part,
        None if checker.is_over() => whole.clone(),
        None => return Err(ReduceError::NotReproducible { model: spec.model.clone() }),
    };
    smallest = shrink::shrink(smallest, &mut checker);
    let is_minimal = !checker.is_over();
    let mut kept = Vec::new();
    if spec.anonymise {
        (smallest, kept) = anonymise::anonymise(smallest, &whole, &mut checker);
    }
    let smallest = shrink::with_declared_outputs(smallest, &mut checker);
    hooks.best.settle();
    let written = write(&smallest, spec, &mut checker)?;
    Ok(Reduced {
        model: spec.model.clone(),
        fails: spec.check.fails.clone(),
        failure,
        operators: (whole.operators(), smallest.operators()),
        operator_types: smallest.operator_types(),
        size: written.size(),
        command: report::command(&written, &spec.check),
        written,
        is_minimal,
        is_cancelled: checker.is_cancelled(),
        is_anonymous: spec.anonymise,
        kept,
        checks: checker.checks(),
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// Runs a model once, and returns whether it fails.
///
/// # Errors
/// Returns an error if the model or its inputs cannot be read, or no process can be started.
pub fn check(spec: &ReduceSpec, hooks: &ReduceHooks<'_>) -> Result<Outcome, ReduceError> {
    let (case, _) = read(spec)?;
    check_once(&case, &spec.check, hooks).map_err(ReduceError::Check)
}

/// Returns what a process prints that checked a model for another one.
pub fn answer(outcome: &Outcome) -> String {
    let (failure, instead) = match outcome {
        Outcome::Fails(failure) => (Some(failure), None),
        Outcome::Otherwise(instead) => (None, Some(instead)),
    };
    serde_json::json!({ "schema": check::CHECK_SCHEMA, "failure": failure, "instead": instead }).to_string()
}

/// Writes the smallest model so far, for a program that ends while a check lasts. Returns `None` if the model was not
/// seen to fail yet.
///
/// # Errors
/// Returns an error if the files cannot be written.
pub fn write_best(spec: &ReduceSpec, best: &Best) -> Option<Result<WrittenCase, ReduceError>> {
    let case = best.case()?;
    let written = WrittenCase::at(&spec.output, !case.inputs.is_empty());
    let failed = |source| ReduceError::Write { path: written.model.clone(), source };
    Some(written.write(&case).map_err(failed).map(|()| written.clone()))
}

/// Refuses outputs that exist.
fn refuse_taken(spec: &ReduceSpec) -> Result<(), ReduceError> {
    let resolved = |path: &Path| path.canonicalize().ok();
    if let (Some(model), Some(output)) = (resolved(&spec.model), resolved(&spec.output))
        && model == output
    {
        return Err(ReduceError::IsTheModel(spec.output.clone()));
    }
    let taken =
        [spec.output.clone(), inputs_beside(&spec.output)].into_iter().find(|path| path.symlink_metadata().is_ok());
    match taken {
        Some(taken) if !spec.overwrite => Err(ReduceError::Exists(taken)),
        _ => Ok(()),
    }
}

/// Reads the model and its inputs. There is no graph if the file is not valid: that may be the failure.
fn read(spec: &ReduceSpec) -> Result<(Case, Option<Arc<Graph>>), ReduceError> {
    let path: Arc<Path> = spec.model.as_path().into();
    match Graph::load(&spec.model) {
        Ok(graph) => {
            let (inputs, _) = spec.inputs.find(&graph, &spec.shapes)?;
            let tensors = inputs.batch(&graph, 0)?.tensors;
            let names = graph.inputs.iter().map(|&input| graph.value(input).name.clone());
            let inputs = names.zip(tensors).collect();
            let damaged =
                |error: prost::DecodeError| OnnxError::NotOnnx { path: spec.model.clone(), reason: error.to_string() };
            let proto = ModelProto::decode(graph.source.bytes.clone()).map_err(damaged)?;
            Ok((Case { proto, inputs, path }, Some(Arc::new(graph))))
        }
        Err(error @ OnnxError::Invalid { .. }) if matches!(spec.check.fails, Fails::Error(_) | Fails::Command(_)) => {
            let bytes = opscope_files::read(&spec.model, LARGEST_FILE).ok();
            let proto = bytes.and_then(|bytes| ModelProto::decode(prost::bytes::Bytes::from(bytes)).ok());
            let proto = proto.filter(|proto| proto.graph.is_some()).ok_or(error)?;
            Ok((Case { proto, inputs: Vec::new(), path }, None))
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the session whose values become the inputs of parts. ONNX Runtime may be what crashes or fails, so the
/// embedded engine computes them then.
fn exact_session(graph: &Arc<Graph>, spec: &CheckSpec) -> Option<Session> {
    let engine = match spec.fails {
        Fails::Crash if spec.engine.name == EngineName::Tract => return None,
        Fails::Crash | Fails::Error(_) | Fails::EnginesDiffer => EngineSpec::default(),
        Fails::FirstNonfinite | Fails::PlanDiffers | Fails::Command(_) => spec.engine.clone(),
    };
    let options = LoadOptions::new(Fidelity::Exact, spec.threads);
    Session::with_engine(engine.open().ok()?, Arc::clone(graph), &options).ok()
}

/// Writes a model beside its place, checks it in a new process, and moves it to its place.
fn write(case: &Case, spec: &ReduceSpec, checker: &mut Checker<'_>) -> Result<WrittenCase, ReduceError> {
    let written = WrittenCase::at(&spec.output, !case.inputs.is_empty());
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| ReduceError::Write { path, source }
    };
    let directory = spec.output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory).map_err(failed(directory))?;
    let beside =
        tempfile::Builder::new().prefix(".opscope-reduce-").tempdir_in(directory).map_err(failed(&spec.output))?;
    let first = WrittenCase::at(&beside.path().join("model.onnx"), !case.inputs.is_empty());
    first.write(case).map_err(failed(&spec.output))?;
    if !checker.fails_in_a_new_process(&first).map_err(ReduceError::Check)? {
        return Err(ReduceError::NotInANewProcess);
    }
    first.move_to(&written, spec.overwrite)?;
    Ok(written)
}
