use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use opscope_clock::{Calibration, ClockPair};
use opscope_debug::Debugger;
use opscope_dump::{DumpError, Estimate, Request};
use opscope_model::{Fidelity, LoadBudget, LoadOptions};
use opscope_onnx::Graph;
use opscope_profile::{Format, ProfileError, ProfilerOptions, write_whole};
use opscope_tensor::Tensor;

use super::instruments::Instruments;
use super::measure::{Goal, MeasureError, Measurement, Progress, Repetition, measure};
use super::outputs::{OutputFormat, OutputWriter};
use super::place::{Place, PlaceError};
use super::places::{Places, run_name};
use super::report::{EngineSummary, FailedShapes, FileInfo, InputSummary, Measured, ModelSummary, Report};
use super::sets::Sets;
use super::stage::Stage;
use crate::inputs::{
    Batch, Data, InputError, InputFiles, Inputs, ShapeWish, concrete_shapes, generate, made_up_dimensions,
};
use crate::machine::{self, Machine};
use crate::verify::{Verification, Verify, VerifyOptions, verify};
use crate::{Session, SessionError};

/// One call of `opscope benchmark`: what to run, how often, what to watch, and where results go.
#[derive(Debug, Clone)]
pub struct Job {
    /// The ONNX file.
    pub model: PathBuf,
    /// What it is fed with.
    pub inputs: InputWish,
    /// The shapes of its inputs: one choice, or several for a table.
    pub shapes: Vec<ShapeWish>,
    /// How often.
    pub repetition: Repetition,
    /// Threads within an operator.
    pub engine_threads: NonZeroUsize,
    /// What loading the model may take.
    pub load_budget: LoadBudget,
    /// Samples in a run, for the throughput; from the first input if none.
    pub batch_size: Option<u64>,
    /// Where the outputs and the summary go, and how outputs are written; nowhere if none.
    pub output: Option<(PathBuf, OutputFormat)>,
    /// The axis on which outputs are cut into one file per input file.
    pub output_batch_axis: usize,
    /// The run's name.
    pub run_name: PathBuf,
    /// Whether the optimised plan is compared with the exact one before it is timed.
    pub verify: VerifyOptions,
    /// What captures the runs.
    pub instrumentation: Instrumentation,
    /// A debugger, to which a client may attach while they go on.
    pub debugger: Option<Debugger>,
    /// The command line, for the summary.
    pub arguments: Vec<String>,
}

/// What a model is fed with.
#[derive(Debug, Clone)]
pub enum InputWish {
    /// Made-up data.
    Generated(Data),
    /// Files or directories.
    Files {
        /// In the order of the model's inputs.
        paths: Vec<PathBuf>,
        /// Whether several files make one batch.
        join: bool,
    },
}

/// What captures the runs.
#[derive(Debug, Clone)]
pub enum Instrumentation {
    /// Nothing.
    None,
    /// A profiler, which leaves a recording in this directory.
    Profiler {
        /// The directory, which must not exist.
        directory: PathBuf,
        /// What is recorded.
        options: Box<ProfilerOptions>,
        /// What is exported at once.
        exports: Vec<Format>,
    },
    /// A dumper, which leaves a dump in this directory. The model then runs at exact fidelity.
    Dump {
        /// The directory, which must not exist.
        directory: PathBuf,
        /// Which tensors, and how they get to the files.
        request: Box<Request>,
        /// Which files.
        form: DumpForm,
    },
}

/// The files of a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DumpForm {
    /// An `.npy` file for each tensor.
    Npy,
    /// Statistics of each tensor, as a table.
    Statistics,
    /// AscendCL's dump files, one for each operator and run.
    Ascend,
}

/// What the caller of a job does beside it.
pub struct Surroundings<'a> {
    /// Set to end early; what was measured until then is reported.
    pub cancel: &'a AtomicBool,
    /// Called when something begins that may take long.
    pub stage: &'a (dyn Fn(Stage) + Sync),
    /// Called after every run with the number of runs so far.
    pub advanced: &'a (dyn Fn(u64, Goal) + Sync),
}

/// Why a job did not come to a report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The model.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The inputs.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A place for results.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The dump.
    #[error(transparent)]
    Dump(#[from] DumpError),
    /// What shall be dumped is not in the model.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Selection(Vec<DumpError>),
    /// The profile.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// Something that the engine cannot do.
    #[error("the {instrument} needs an engine that can {missing}, and {engine} cannot")]
    Capability {
        /// What needs it.
        instrument: String,
        /// The engine.
        engine: String,
        /// What it lacks.
        missing: String,
    },
    /// A run.
    #[error("{source}{}", where_kept(.kept))]
    Measure {
        /// What happened.
        source: MeasureError,
        /// Where what was captured until then is.
        kept: Option<PathBuf>,
    },
    /// Nothing was measured.
    #[error("nothing was measured: it was ended before the first run was over{}", where_kept(.kept))]
    Nothing {
        /// Where what was captured until then is.
        kept: Option<PathBuf>,
    },
}

impl InputWish {
    /// The inputs that are meant, for a model.
    ///
    /// # Errors
    /// When they do not fit the model.
    pub fn find(&self, graph: &Graph, shapes: &ShapeWish) -> Result<Inputs, InputError> {
        match self {
            InputWish::Generated(data) => {
                Ok(Inputs::Generated(generate(graph, &concrete_shapes(graph, shapes)?, *data)?))
            }
            InputWish::Files { paths, join } => Ok(Inputs::Files(InputFiles::find(graph, paths, shapes, *join)?)),
        }
    }
}

fn where_kept(directory: &Option<PathBuf>) -> String {
    directory
        .as_ref()
        .map(|directory| format!("; what was captured until then is in {directory:?}"))
        .unwrap_or_default()
}

impl Default for Surroundings<'_> {
    fn default() -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Self { cancel: &NEVER, stage: &|_| (), advanced: &|_, _| () }
    }
}

impl Job {
    /// A job that runs a model once, after one warm-up, with zeros, and watches and writes nothing.
    pub fn new(model: impl Into<PathBuf>) -> Self {
        Self {
            model: model.into(),
            inputs: InputWish::Generated(Data::Zero),
            shapes: vec![ShapeWish::Smallest],
            repetition: Repetition {
                loops: 1,
                warmups: 1,
                until_stable: None,
                duration: None,
                concurrent: NonZeroUsize::MIN,
            },
            engine_threads: NonZeroUsize::MIN,
            load_budget: LoadBudget::default(),
            batch_size: None,
            output: None,
            output_batch_axis: 0,
            run_name: PathBuf::from(run_name()),
            verify: VerifyOptions::default(),
            instrumentation: Instrumentation::None,
            debugger: None,
            arguments: Vec::new(),
        }
    }

    /// The fidelity at which the model runs.
    pub fn fidelity(&self) -> Fidelity {
        match self.instrumentation {
            Instrumentation::Dump { .. } => Fidelity::Exact,
            _ => Fidelity::Optimised,
        }
    }

    /// How the model is loaded.
    pub fn load_options(&self) -> LoadOptions {
        LoadOptions { budget: self.load_budget, ..LoadOptions::new(self.fidelity(), self.engine_threads) }
    }

    /// Loads the model and does everything.
    ///
    /// # Errors
    /// See [`JobError`]. A report that is not [`complete`](Report::complete) is no error.
    pub fn run(&self, surroundings: &Surroundings<'_>) -> Result<Report, JobError> {
        (surroundings.stage)(Stage::Loading);
        let session = Session::open(&self.model, &self.load_options())?;
        self.run_in(&session, surroundings)
    }

    /// Does everything with a model that is loaded already, at the [fidelity](Self::fidelity) that is needed.
    ///
    /// # Errors
    /// See [`JobError`].
    pub fn run_in(&self, session: &Session, surroundings: &Surroundings<'_>) -> Result<Report, JobError> {
        let graph = session.graph();
        let sets = Sets::of(self, graph)?;
        if let Instrumentation::Dump { request, .. } = &self.instrumentation {
            let is_open_ended = self.repetition.until_stable.is_some() || self.repetition.duration.is_some();
            let sets = sets.fitting.iter().map(|(_, inputs)| inputs.len() as u64);
            let runs = if is_open_ended { u64::MAX } else { sets.sum::<u64>().saturating_mul(self.repetition.loops) };
            request.selection.check(graph, runs).map_err(JobError::Selection)?;
        }
        let mut places = Places::reserve(self)?;
        let instruments = Instruments::create(self, session, places.data.as_ref())?;
        places.data.iter_mut().for_each(Place::begun);
        instruments.check(session)?;

        let is_table = self.shapes.len() > 1;
        let mut ended = Ended { failed: sets.failed, left_out: sets.left_out, ..Ended::default() };
        let mut runs = 0;
        for (shapes, inputs) in sets.fitting {
            let (verification, other) = self.verified(session, &inputs, surroundings).unzip();
            let session = other.as_ref().and_then(Option::as_ref).unwrap_or(session);
            let (measurement, written, outcome) =
                self.measure(session, &inputs, &places, &instruments, surroundings, runs);
            runs += measurement.runs;
            ended.runs = runs;
            ended.note(&measurement);
            instruments.note(verification.as_ref(), &measurement.notes);
            ended.formless.extend(written.formless);
            match outcome {
                Err(source) if is_table && source.is_of_these_inputs() => {
                    ended.failed.push(FailedShapes { shapes: shapes.to_string(), reason: source.to_string() });
                    ended.failure = Some(source);
                    continue;
                }
                outcome => {
                    let described = describe_inputs(session, &inputs)?;
                    let concurrent = self.repetition.concurrent.get();
                    let measured = Measured::of(&measurement, described, self.batch_size, concurrent, written.files);
                    ended.measured.extend(measured.map(|measured| Measured {
                        verification,
                        made_up_dimensions: made_up(self, graph, shapes),
                        ..measured
                    }));
                    ended.failure = outcome.err();
                }
            }
            if ended.failure.is_some() || measurement.cancelled {
                break;
            }
        }
        ended.finish();
        self.report(session, places, instruments, ended, surroundings)
    }

    /// How much a dump of this job would be, without running it; nothing where no dump is asked for.
    ///
    /// # Errors
    /// As [`run`](Self::run), as far as nothing runs.
    pub fn estimate(&self) -> Result<Vec<Estimate>, JobError> {
        let Instrumentation::Dump { request, .. } = &self.instrumentation else { return Ok(Vec::new()) };
        let session = Session::open(&self.model, &self.load_options())?;
        request.selection.check(session.graph(), u64::MAX).map_err(JobError::Selection)?;
        let estimate = |(_, inputs): &(&ShapeWish, Inputs)| {
            let runs = self.repetition.loops.saturating_mul(inputs.len() as u64);
            let batch = inputs.batch(session.graph(), 0)?;
            let plan = session.model().plan(&batch.tensors).map_err(SessionError::from)?;
            Ok(Estimate::of(&request.selection, &**session.model(), &*plan, runs)?)
        };
        Sets::of(self, session.graph())?.fitting.iter().map(estimate).collect()
    }

    /// What comparing the plan for these inputs with the exact one shows, and the session to run where it is another one.
    fn verified(
        &self,
        session: &Session,
        inputs: &Inputs,
        surroundings: &Surroundings<'_>,
    ) -> Option<(Verification, Option<Session>)> {
        if self.verify.when == Verify::Off || session.model().fidelity() == Fidelity::Exact {
            return None;
        }
        (surroundings.stage)(Stage::Verifying);
        let batch = inputs.batch(session.graph(), 0).ok()?;
        let runs = self.repetition.loops.saturating_mul(inputs.len() as u64).saturating_add(self.repetition.warmups);
        let found = verify(session, &batch.tensors, runs, &self.verify);
        machine::forget_peak_memory();
        found
    }

    fn measure(
        &self,
        session: &Session,
        inputs: &Inputs,
        places: &Places,
        instruments: &Instruments,
        surroundings: &Surroundings<'_>,
        first_run: u64,
    ) -> (Measurement, Written, Result<(), MeasureError>) {
        let written = Mutex::new(Written::default());
        let writer =
            places.outputs.as_ref().zip(self.output.as_ref()).map(|(place, (_, format))| {
                OutputWriter::new(place.partial().to_owned(), *format, self.output_batch_axis)
            });
        let outputs = |index: usize, batch: &Batch, outputs: &[Option<Tensor>]| {
            let Some(writer) = &writer else { return Ok(()) };
            let files = writer.write(index, batch, outputs)?;
            let infiles = files.infiles.into_iter().flatten().collect();
            let info = FileInfo { infiles, outfiles: files.outfiles };
            let formless = outputs.iter().zip(&session.graph().outputs).filter(|(output, _)| output.is_none());
            let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
            written.files.insert(index.to_string(), info);
            written.formless.extend(formless.map(|(_, &id)| session.graph().value(id).name.clone()));
            Ok(())
        };
        let Surroundings { cancel, stage, advanced } = *surroundings;
        let progress = Progress { watch: instruments.watch(), cancel, stage, advanced, outputs: &outputs, first_run };
        stage(Stage::Planning);
        let (measurement, outcome) = measure(session, inputs, &self.repetition, &progress);
        (measurement, written.into_inner().unwrap_or_else(PoisonError::into_inner), outcome)
    }

    fn report(
        &self,
        session: &Session,
        places: Places,
        instruments: Instruments,
        mut ended: Ended,
        surroundings: &Surroundings<'_>,
    ) -> Result<Report, JobError> {
        (surroundings.stage)(Stage::Closing);
        if ended.runs == 0 {
            // Nothing began, so there is nothing to keep: the places take themselves away.
            drop(instruments);
            drop(places);
            return Err(match ended.failure {
                Some(source) => JobError::Measure { source, kept: None },
                None => JobError::Nothing { kept: None },
            });
        }
        let failure = ended.failure.as_ref().map(ToString::to_string);
        let shortfalls: Vec<String> = ended.incomplete_because.iter().cloned().chain(failure).collect();
        let finished = instruments.finish(places.data, &shortfalls, surroundings)?;
        ended
            .incomplete_because
            .extend(finished.incomplete_because.into_iter().filter(|reason| !shortfalls.contains(reason)));
        for name in &ended.formless {
            ended.incomplete_because.push(format!("output '{name}' has no form as a file and was not written"));
        }
        let mut outputs = places.outputs;
        if let Some(MeasureError::Write(error)) = &ended.failure {
            let mut reason = format!("the outputs could not be written: {error}");
            // Files that may be cut short do not come under the run's name.
            if let Some(place) = outputs.take() {
                place.keep();
                reason.push_str(&format!("; some are in {:?}", place.partial()));
            }
            ended.incomplete_because.push(reason);
            ended.failure = None;
        }
        let kept = finished.profile.as_ref().map(|profile| &profile.directory);
        let kept = kept.or(finished.dump.as_ref().map(|dump| &dump.directory)).cloned();
        if let Some(source) = ended.failure {
            return Err(JobError::Measure { source, kept });
        }
        let first = ended.measured.first().cloned().ok_or(JobError::Nothing { kept })?;
        let graph = session.graph();
        let (start, end) = session.loading();
        let loading = Calibration::since(ClockPair::now()).nanos(start, end) / 1e6;
        let mut report = Report {
            schema: "opscope.summary/1",
            run: places.run_name.display().to_string(),
            opscope: env!("CARGO_PKG_VERSION"),
            args: self.arguments.clone(),
            pid: std::process::id(),
            model: ModelSummary {
                path: self.model.clone(),
                bytes: graph.source.bytes.len() as u64,
                xxh3: format!("{:016x}", graph.source.xxh3),
                graph: graph.name.clone(),
                operators: graph.operators.len(),
            },
            engine: EngineSummary {
                name: session.engine().name().to_owned(),
                version: session.engine().version().to_owned(),
                fidelity: session.model().fidelity(),
                threads: session.threads().get(),
                concurrent_runs: self.repetition.concurrent.get(),
            },
            machine: Machine::this(),
            load_ms: loading,
            peak_memory_bytes: machine::peak_memory(),
            complete: ended.incomplete_because.is_empty(),
            incomplete_because: ended.incomplete_because,
            dym_shape_range: (self.shapes.len() > 1).then(|| ended.measured.clone()),
            failed_shapes: ended.failed,
            left_out_shapes: ended.left_out,
            measurements: ended.measured,
            first: Some(first),
            profile: finished.profile,
            dump: finished.dump,
            debugger: finished.debugger,
        };
        if let Some(place) = outputs {
            let partial = place.partial().to_owned();
            if let Err(error) = place.commit() {
                report.fall_short(format!("the outputs stay in {partial:?}: {error}"));
            }
        }
        if let Some(summary) = places.summary {
            // What was measured is worth more than the file about it: the caller still gets the report.
            if let Err(error) = write_summary(&report, &summary) {
                report.fall_short(format!("the summary was not written: {error}"));
            }
        }
        Ok(report)
    }
}

fn write_summary(report: &Report, path: &Path) -> Result<(), PlaceError> {
    let written = write_whole(path, |file| {
        serde_json::to_writer_pretty(&mut *file, report)?;
        file.write_all(b"\n")
    });
    written.map_err(PlaceError::io(path))
}

/// How the measurements ended.
#[derive(Default)]
struct Ended {
    /// Runs that began, warm-ups among them.
    runs: u64,
    measured: Vec<Measured>,
    incomplete_because: Vec<String>,
    /// Outputs of types such as strings.
    formless: BTreeSet<String>,
    /// The sets of shapes of a table that could not be measured.
    failed: Vec<FailedShapes>,
    /// How many sets of shapes of a table contradict themselves.
    left_out: u64,
    failure: Option<MeasureError>,
}

/// What was written of the outputs.
#[derive(Default)]
struct Written {
    /// By the number of the run.
    files: BTreeMap<String, FileInfo>,
    /// The names of the outputs that have no form as bytes.
    formless: BTreeSet<String>,
}

impl Ended {
    fn note(&mut self, measurement: &Measurement) {
        if measurement.cancelled {
            self.incomplete_because
                .push(format!("it was interrupted; {} runs were measured", measurement.compute.len()));
        }
        if measurement.unstable {
            let runs = measurement.compute.len();
            self.incomplete_because.push(format!("the median was not as stable as wanted after {runs} runs"));
        }
    }

    /// Takes in what became of the sets of shapes of a table: what fails in one of them is the end only where nothing was
    /// measured.
    fn finish(&mut self) {
        if !self.measured.is_empty()
            && self.failure.as_ref().is_some_and(MeasureError::is_of_these_inputs)
            && !self.failed.is_empty()
        {
            self.failure = None;
        }
        let failed = self.failed.iter().map(|failed| format!("{} failed: {}", failed.shapes, failed.reason));
        self.incomplete_because.extend(failed);
    }
}

/// The dimensions whose sizes nobody has chosen.
fn made_up(job: &Job, graph: &Graph, shapes: &ShapeWish) -> Vec<String> {
    match job.inputs {
        InputWish::Generated(_) => made_up_dimensions(graph, shapes),
        InputWish::Files { .. } => Vec::new(),
    }
}

fn describe_inputs(session: &Session, inputs: &Inputs) -> Result<Vec<InputSummary>, InputError> {
    let graph = session.graph();
    let batch = inputs.batch(graph, 0)?;
    let describe = |(&id, tensor): (&opscope_onnx::ValueId, &Tensor)| InputSummary {
        name: graph.value(id).name.clone(),
        dtype: tensor.dtype().to_string(),
        shape: tensor.shape().to_vec(),
    };
    Ok(graph.inputs.iter().zip(&batch.tensors).map(describe).collect())
}
