//! What a job does, from the loaded model to the report.

mod close;
mod measurements;
#[cfg(test)]
mod snapshots;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use opscope::engine::EngineSpec;
use opscope::{Session, SessionError};
use opscope_dump::Estimate;
use opscope_model::{Engine, Fidelity};
use opscope_onnx::{Graph, ValueId};
use opscope_sys::{Mutex, memory};
use opscope_tensor::Tensor;

use self::close::close;
use super::JobError;
use super::instruments::Instruments;
use super::job::{CaptureSpec, Job, JobHooks, Stage};
use super::measure::{MeasureContext, MeasureError, Measurement, measure};
use super::not_finite::NotFinite;
use super::output::{FileNames, OutputPath, OutputWriter, RunPaths};
use super::report::{FailedShapes, FileInfo, InputSummary, Measured, Report};
use crate::inputs::{Batch, InputError, InputSpec, Inputs, ShapeSpec, made_up_dimensions};
use crate::verify::{Verification, Verify, VerifyOptions, verify_against};
use measurements::{Measurements, ShapeSets};

/// The outputs that were written.
#[derive(Default)]
struct Written {
    /// The files, by the number of the run.
    files: BTreeMap<String, FileInfo>,
    /// The names of the outputs without a byte form.
    formless: BTreeSet<String>,
}

/// The measurement with the inputs of one set of shapes.
struct MeasuredSet {
    measurement: Measurement,
    written: Written,
    /// The error that ended it early.
    outcome: Result<(), MeasureError>,
}

impl Job {
    /// Loads the model and runs the job.
    ///
    /// # Errors
    /// See [`JobError`]. A report that is not [`complete`](Report::complete) is not an error.
    pub fn run(&self, hooks: &JobHooks<'_>) -> Result<Report, JobError> {
        (hooks.stage)(Stage::Loading);
        RunPaths::check(self)?;
        let session = self.load()?;
        self.run_in(&session, hooks)
    }

    /// Runs the job with a model that was loaded with the job's [options](Self::load_options).
    ///
    /// # Errors
    /// See [`JobError`].
    pub fn run_in(&self, session: &Session, hooks: &JobHooks<'_>) -> Result<Report, JobError> {
        let graph = session.graph();
        let reference = self.verify.reference.as_ref().map(EngineSpec::open).transpose().map_err(SessionError::from)?;
        let sets = ShapeSets::of(self, graph)?;
        self.check_selection(graph, &sets)?;
        if let Some((_, inputs)) = sets.fitting.first() {
            (hooks.fed)(inputs, graph);
        }
        let mut paths = RunPaths::reserve(self)?;
        let instruments = Instruments::create(self, session, paths.captured.as_ref().map(OutputPath::partial))?;
        paths.captured.iter_mut().for_each(OutputPath::begun);
        instruments.check(session)?;

        let is_table = self.shapes.len() > 1;
        let mut measurements = Measurements { failed: sets.failed, left_out: sets.left_out, ..Measurements::default() };
        let several = sets.fitting.iter().map(|(_, inputs)| inputs.len()).sum::<usize>() > 1;
        let all = sets.fitting.len();
        for (set, (shapes, inputs)) in sets.fitting.into_iter().enumerate() {
            let (verification, other) = self.verified(session, reference.as_ref(), &inputs, hooks).unzip();
            let session = other.as_ref().and_then(Option::as_ref).unwrap_or(session);
            let writer = self.writer(&paths, graph, several, set);
            let MeasuredSet { measurement, written, outcome } =
                self.measure(session, &inputs, writer, &instruments, hooks, measurements.runs);
            measurements.note(&measurement, set, all);
            instruments.note(verification.as_ref(), &measurement.notes);
            measurements.formless.extend(written.formless);
            match outcome {
                Err(source) if is_table && source.is_of_these_inputs() => {
                    let failed = FailedShapes { shapes: shapes.to_string(), reason: source.to_string() };
                    measurements.failed.push(failed);
                    measurements.failure = Some(source);
                    continue;
                }
                outcome => {
                    let described = describe_inputs(session, &inputs)?;
                    let again = self.again(graph, &shapes);
                    let concurrent = self.repetition.concurrent.get();
                    let measured =
                        Measured::of(&measurement, graph, described, self.batch_size, concurrent, written.files);
                    measurements.measured.extend(measured.map(|measured| {
                        Measured {
                            verification,
                            made_up_dimensions: made_up(self, graph, &shapes),
                            not_finite: measurement
                                .not_finite
                                .as_ref()
                                .map(|found| NotFinite::new(found.set, found.outputs.clone(), &self.model, &again)),
                            again,
                            ..measured
                        }
                    }));
                    measurements.failure = outcome.err();
                    if !is_table && !measurement.cancelled && measurements.failure.is_none() {
                        let median = measurements.measured.first().map(|measured| measured.compute.median);
                        measurements.beside = self.profile_beside(session, &inputs, median, measurements.runs, hooks);
                    }
                }
            }
            if measurements.failure.is_some() || measurement.cancelled {
                break;
            }
        }
        measurements.finish();
        let load = instruments.end_load();
        close(self, session, paths, instruments, measurements, load, hooks)
    }

    /// Checks that the tensors to dump are in the model, and that there will be enough runs.
    fn check_selection(&self, graph: &Graph, sets: &ShapeSets) -> Result<(), JobError> {
        let CaptureSpec::Dump { request, .. } = &self.capture else { return Ok(()) };
        let is_open_ended = self.repetition.until_stable.is_some() || self.repetition.duration.is_some();
        let loops = if is_open_ended { u64::MAX } else { self.repetition.loops };
        let inputs: u64 = sets.fitting.iter().map(|(_, inputs)| inputs.len() as u64).sum();
        request.selection.check(graph, inputs.saturating_mul(loops)).map_err(JobError::Selection)
    }

    /// Compares the plan for these inputs with the exact one, or with that of another engine. Returns the result, and
    /// the session to run if it is a different one.
    fn verified(
        &self,
        session: &Session,
        reference: Option<&Arc<dyn Engine>>,
        inputs: &Inputs,
        hooks: &JobHooks<'_>,
    ) -> Option<(Verification, Option<Session>)> {
        let is_exact = session.model().fidelity() == Fidelity::Exact;
        if self.verify.when == Verify::Off || (is_exact && reference.is_none()) {
            return None;
        }
        (hooks.stage)(Stage::Verifying);
        let batch = inputs.batch(session.graph(), 0).ok()?;
        let runs = self.repetition.loops.saturating_mul(inputs.len() as u64).saturating_add(self.repetition.warmups);
        let timed = self.repetition.warm_up.saturating_add(self.repetition.duration.unwrap_or_default());
        let options = VerifyOptions { timed, ..self.verify.clone() };
        let found = verify_against(reference, session, &batch.tensors, runs, &options);
        memory::reset_peak();
        found
    }

    /// Returns the options with which another command runs the model on the same inputs, with these shapes and the same
    /// engine.
    fn again(&self, graph: &Graph, shapes: &ShapeSpec) -> Vec<String> {
        let files = match &self.inputs {
            InputSpec::Files { paths, .. } => paths.words(graph),
            InputSpec::Generated(_) | InputSpec::Given(_) => Vec::new(),
        };
        files.into_iter().chain(self.same_options.iter().cloned()).chain(shapes.word(graph)).collect()
    }

    /// Returns the writer of the outputs for a set of shapes, or `None` if the job writes none.
    fn writer(&self, paths: &RunPaths, graph: &Graph, several: bool, set: usize) -> Option<OutputWriter> {
        let (path, output) = paths.outputs.as_ref().zip(self.output.as_ref())?;
        let names = FileNames::new(output.names, graph, several, set);
        let (directory, batch_axis) = (path.partial().to_owned(), self.output_batch_axis);
        Some(OutputWriter { directory, format: output.format, batch_axis, names })
    }

    fn measure(
        &self,
        session: &Session,
        inputs: &Inputs,
        writer: Option<OutputWriter>,
        instruments: &Instruments,
        hooks: &JobHooks<'_>,
        first_run: u64,
    ) -> MeasuredSet {
        let written = Mutex::new(Written::default());
        let outputs = |index: usize, batch: &Batch, outputs: &[Option<Tensor>]| {
            let Some(writer) = &writer else { return Ok(()) };
            let files = writer.write(index, batch, outputs)?;
            let formless = outputs.iter().zip(&session.graph().outputs).filter(|(output, _)| output.is_none());
            let mut written = written.lock();
            written.files.insert(index.to_string(), files);
            written.formless.extend(formless.map(|(_, &id)| session.graph().value(id).name.clone()));
            Ok(())
        };
        (hooks.stage)(Stage::Planning);
        let context = MeasureContext { instruments, hooks: *hooks, outputs: &outputs, first_run };
        let (measurement, outcome) = measure(session, inputs, &self.repetition, &context);
        let written = written.into_inner();
        MeasuredSet { measurement, written, outcome }
    }
}

/// Returns the dimensions whose sizes were not given.
fn made_up(job: &Job, graph: &Graph, shapes: &ShapeSpec) -> Vec<String> {
    match job.inputs {
        InputSpec::Generated(_) => made_up_dimensions(graph, shapes),
        InputSpec::Files { .. } | InputSpec::Given(_) => Vec::new(),
    }
}

fn describe_inputs(session: &Session, inputs: &Inputs) -> Result<Vec<InputSummary>, InputError> {
    let graph = session.graph();
    let batch = inputs.batch(graph, 0)?;
    let describe = |(&id, tensor): (&ValueId, &Tensor)| InputSummary {
        name: graph.value(id).name.clone(),
        dtype: tensor.dtype(),
        shape: tensor.shape().to_vec(),
    };
    Ok(graph.inputs.iter().zip(&batch.tensors).map(describe).collect())
}

impl Job {
    /// Returns the size of the dump for each set of shapes, without running the model. Empty if the job dumps nothing.
    ///
    /// # Errors
    /// Returns an error if the model, its inputs or the selection cannot be used.
    pub fn estimate(&self) -> Result<Vec<Estimate>, JobError> {
        let CaptureSpec::Dump { request, .. } = &self.capture else { return Ok(Vec::new()) };
        let session = self.load()?;
        request.selection.check(session.graph(), u64::MAX).map_err(JobError::Selection)?;
        let estimate = |(_, inputs): &(ShapeSpec, Inputs)| {
            let runs = self.repetition.loops.saturating_mul(inputs.len() as u64);
            let batch = inputs.batch(session.graph(), 0)?;
            let plan = session.model().plan(&batch.tensors).map_err(SessionError::from)?;
            Estimate::of(&request.selection, &**session.model(), &*plan, runs).map_err(JobError::Estimate)
        };
        ShapeSets::of(self, session.graph())?.fitting.iter().map(estimate).collect()
    }
}
