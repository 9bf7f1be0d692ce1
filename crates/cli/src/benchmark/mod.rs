//! `opscope benchmark`.

mod debug_server;
mod interrupt;
mod sizes;
mod text;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use opscope::SessionError;
use opscope::dump::Estimate;
use opscope::model::{EngineError, LoadBudget};
use opscope::onnx::Graph;
use opscope::profile::ProfilerOptions;
use opscope::text::shown_text;
use opscope_acl_json::{self as acl_json, AclConfig, AclError};
use opscope_job::benchmark::{
    CaptureSpec, InstrumentError, Job, JobError, JobHooks, MeasureError, Measured, Report, Stage, apply_acl_json,
};
use opscope_job::reduce::Fails;
use serde_json::json;

use self::debug_server::DebugServer;
use self::interrupt::Interrupt;
use self::text::View;
use crate::consumers;
use crate::engines::{faster, with_hint};
use crate::exit::{Exit, Failure};
use crate::isolate::Invocation;
use crate::options::{
    self, Action, BenchmarkArguments, BenchmarkRequest, EngineArguments, Environment, NoteKind, Reporting, TextForm,
};
use crate::reduce::offer;
use crate::terminal::{self, Messages, Progress, print, print_json};

/// Runs the command.
pub fn run(arguments: BenchmarkArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let environment: Environment = std::env::vars_os().collect();
    let inputs = arguments.fed.words();
    let engine = arguments.engine.clone();
    let resolved = options::resolve(arguments, &environment).map_err(Failure::wrong_use)?;
    let BenchmarkRequest { mut job, action, batch, tools, debug_server, reporting } = resolved.request;
    let isolation = invocation.isolate(job.survives_crash, &job.model)?;
    job.arguments = invocation.words().iter().map(|word| word.to_string_lossy().into_owned()).collect();
    job.same_options = same_options(&job, &inputs, &engine);
    let messages = Messages { quiet: reporting.quiet, debug: reporting.debug };
    for note in &resolved.notes {
        match note.kind {
            NoteKind::Note => messages.note(note),
            NoteKind::Warning => messages.warning(note),
        }
    }
    let interrupt = Interrupt::listen(&isolation, job.engine.name)?;
    interrupt.attached(consumers::attach_with_tools(tools, messages)?);
    let progress = Progress::new(reporting.quiet);
    let budget = sizes::budget(&job, &action);
    let hooks = JobHooks {
        cancel: interrupt.flag(),
        stage: &|stage| {
            interrupt.enter(stage);
            isolation.note(stage, !stage.has_no_results());
            messages.debug(stage);
            progress.stage(stage);
        },
        fed: &|inputs, graph| messages.fed(inputs, graph),
        advanced: &|done, goal| progress.ran(done, goal),
        expects: &|bytes| {
            if let Some(text) = sizes::expected(bytes, budget) {
                progress.aside(|| messages.note(&text));
            }
        },
    };
    messages.debug(format!("{job:?}"));
    let _server = match &debug_server {
        None => None,
        Some(at) => {
            let (debugger, server) = DebugServer::start(at, &isolation, messages)?;
            job.debugger = Some(debugger);
            Some(server)
        }
    };
    let outcome = match &action {
        Action::Run => job.run(&hooks),
        Action::EstimateDump => {
            let estimates = job.estimate().map_err(|error| failure(error, &job, &inputs))?;
            progress.finish();
            return show_estimates(&estimates, reporting).map(|()| Exit::Done);
        }
        Action::AclJson { path, check_only, profiler } => {
            let config = read_acl_json(path, messages)?;
            interrupt.enter(Stage::Loading);
            let graph = Graph::load(&job.model).map_err(Failure::wrong_use)?;
            capture_by_acl_json(&mut job, &graph, (path, &config), profiler, messages)?;
            if *check_only {
                progress.finish();
                return show_fit(path, &job.model, reporting).map(|()| Exit::Done);
            }
            job.load_graph(Arc::new(graph)).map_err(JobError::from).and_then(|session| job.run_in(&session, &hooks))
        }
    };
    progress.finish();
    let report = outcome.map_err(|error| failure(error, &job, &inputs))?;
    if let Some(warning) = batch.and_then(|batch| other_batch(batch, &report, &job)) {
        messages.warning(warning);
    }
    if report.run != job.run_name.to_string_lossy() {
        messages.note(format!("the name {} is taken; this run is {}", job.run_name.display(), report.run));
    }
    let is_screen = !reporting.json && !reporting.quiet && reporting.text == TextForm::Screen;
    let is_chosen = engine.engine.is_some() || environment.chooses_engine();
    let faster = if is_screen && !is_chosen { faster(&report, &job, &inputs) } else { None };
    show(&report, &job, faster.as_deref(), reporting)?;
    for not_finite in report.measurements.iter().filter_map(|measured| measured.not_finite.as_ref()) {
        messages.warning(not_finite.sentence());
    }
    if !reporting.json
        && let Some(offer) = smaller_model(&report, &job, &inputs)
    {
        messages.note(offer);
    }
    report.profile.iter().flat_map(sizes::notes).for_each(|text| messages.note(text));
    if let Some(debugger) = report.debugger.as_ref().filter(|debugger| debugger.stopped_runs > 0) {
        let stopped = debugger.stopped_runs;
        messages.warning(format!("a debugger stopped {stopped} of the runs: the times include its pauses"));
    }
    for reason in &report.incomplete_because {
        messages.warning(format!("incomplete: {reason}"));
    }
    let verifications = report.measurements.iter().filter_map(|measured| measured.verification.as_ref());
    if let Some(wrong) = verifications.into_iter().find(|verification| verification.is_wrong()) {
        messages.warning(wrong.sentence());
        return Ok(Exit::Different);
    }
    Ok(if report.complete { Exit::Done } else { Exit::Incomplete })
}

/// Returns the command that finds the smallest model, if the engine's own plan gave other outputs than its exact one.
fn smaller_model(report: &Report, job: &Job, inputs: &[String]) -> Option<String> {
    let [measured] = &report.measurements[..] else { return None };
    let verification = measured.verification.as_ref()?;
    let differs = verification.reference.is_none() && !verification.wrong.is_empty();
    let run_alike = job.same_options.iter().filter(|word| !inputs.contains(word));
    let options: Vec<String> =
        inputs.iter().chain(run_alike).filter(|word| !word.starts_with(LOAD_BUDGET)).cloned().collect();
    differs.then(|| offer(&job.model, &options, &Fails::PlanDiffers))
}

/// The option that a model is loaded with, and that reducing it does not take.
const LOAD_BUDGET: &str = "--load-budget=";

/// Returns a note if runs had another batch than `--batch-size`, because the model or the inputs set it.
fn other_batch(wanted: u64, report: &Report, job: &Job) -> Option<String> {
    let of_runs = |measured: &Measured| measured.inputs.first()?.shape.first().map(|batch| *batch as u64);
    let found = report.measurements.iter().filter_map(of_runs).find(|found| *found != wanted)?;
    let what = match job.batch_size {
        Some(_) => format!("the throughput counts {wanted} samples in a run"),
        None => "the throughput counts what ran".to_owned(),
    };
    Some(format!("--batch-size {wanted}: the model's inputs have a batch of {found}; {what}"))
}

/// Returns the options that make another command run the model as this job does. `inputs` are the options that gave the
/// job its inputs.
fn same_options(job: &Job, inputs: &[String], engine: &EngineArguments) -> Vec<String> {
    // The report adds the files and the shapes that apply.
    let inputs = inputs.iter().filter(|word| !word.starts_with("--dym-") && !word.starts_with("--input=")).cloned();
    let threads = Some(job.engine_threads).filter(|threads| *threads > NonZeroUsize::MIN);
    let threads = threads.map(|threads| format!("--engine-threads={threads}"));
    let budget = Some(job.load_budget).filter(|budget| *budget != LoadBudget::default());
    let budget = budget.map(|budget| format!("--load-budget={}", budget.factor()));
    inputs.chain(engine.words(job.engine.name)).chain(threads).chain(budget).collect()
}

fn show(report: &Report, job: &Job, faster: Option<&str>, reporting: Reporting) -> Result<(), Failure> {
    if reporting.json {
        return print_json(serde_json::to_string_pretty(report).map_err(Failure::failed)?);
    }
    if reporting.quiet {
        return Ok(());
    }
    let width = if reporting.text == TextForm::OtherTools { 80 } else { terminal::width() };
    let view = View { form: reporting.text, rows: reporting.rows, width, bars: terminal::bars() };
    print(text::render(report, job, faster, view).trim_end())
}

fn show_estimates(estimates: &[Estimate], reporting: Reporting) -> Result<(), Failure> {
    if reporting.json { print_json(text::estimates_json(estimates)) } else { print(text::estimates(estimates)) }
}

/// Reports that an `acl.json` fits the model.
fn show_fit(acl_json: &Path, model: &Path, reporting: Reporting) -> Result<(), Failure> {
    if !reporting.json {
        return print(shown_text(&format!("{} fits {}", acl_json.display(), model.display())));
    }
    print_json(
        json!({ "schema": "opscope.check/1", "fits": true, "acl_json": acl_json.to_string_lossy(), "model": model.to_string_lossy() }),
    )
}

fn read_acl_json(path: &Path, messages: Messages) -> Result<AclConfig, Failure> {
    let here = std::env::current_dir().map_err(|error| Failure::failed(format!("the working directory: {error}")))?;
    let config = AclConfig::read(path, &here).map_err(|problems| all(path, &problems))?;
    show_notes(&config.notes, messages);
    Ok(config)
}

/// Makes the job capture what the file selects.
fn capture_by_acl_json(
    job: &mut Job,
    graph: &Graph,
    (path, config): (&Path, &AclConfig),
    defaults: &ProfilerOptions,
    messages: Messages,
) -> Result<(), Failure> {
    let applied = apply_acl_json(config, graph, &job.run_name, defaults);
    let (capture, notes) = applied.map_err(|AclError(problems)| all(path, &problems))?;
    show_notes(&notes, messages);
    if let CaptureSpec::Profile { .. } = capture {
        messages
            .note("only the raw recording is written; `opscope export DIR` makes the timeline and the tables of it");
    }
    job.set_capture(capture);
    Ok(())
}

fn show_notes(notes: &[acl_json::Note], messages: Messages) {
    for note in notes {
        match note.kind {
            acl_json::NoteKind::NoEffect => messages.note(note),
            acl_json::NoteKind::Warning => messages.warning(note),
        }
    }
}

fn all(path: &Path, problems: &[acl_json::Problem]) -> Failure {
    Failure::wrong_use(format!("{} cannot be used:", path.display())).with_problems(problems)
}

/// Returns the failure for a job's error. `inputs` are the options that gave the job its inputs.
fn failure(error: JobError, job: &Job, inputs: &[String]) -> Failure {
    if let JobError::Session(SessionError::Library(error)) = &error {
        return Failure::engine(error);
    }
    if let JobError::NoRuns { kept: Some(_) } = &error {
        return Failure::incomplete(error);
    }
    if let JobError::Selection(problems) = &error {
        return match &problems[..] {
            [one] => Failure::wrong_use(one),
            several => Failure::wrong_use("the selection does not fit the model:").with_problems(several),
        };
    }
    let wrong_use = match &error {
        JobError::Instrument(InstrumentError::Capability(_)) => true,
        JobError::Session(SessionError::File(_)) | JobError::Input(_) | JobError::OutputPath(_) => true,
        JobError::Measure { source: MeasureError::Input(_), .. } => true,
        JobError::Measure { source: MeasureError::Engine(error), .. } => matches!(
            error,
            EngineError::InputCount { .. }
                | EngineError::InputType { .. }
                | EngineError::InputShape { .. }
                | EngineError::Index { .. }
        ),
        _ => false,
    };
    let failure = if wrong_use { Failure::wrong_use(&error) } else { Failure::failed(&error) };
    let of_engine = match &error {
        JobError::Session(SessionError::Engine(error)) => Some(error),
        JobError::Measure { source: MeasureError::Engine(error), .. } => Some(error),
        _ => None,
    };
    with_hint(failure, of_engine, &job.engine, &job.model, inputs)
}

/// Formats a time with its unit.
fn millis(millis: f64) -> String {
    let duration = Duration::from_secs_f64((millis / 1e3).max(0.0));
    match duration.as_secs_f64() {
        seconds if seconds >= 1.0 => format!("{seconds:.2} s"),
        seconds if seconds >= 1e-3 => format!("{:.2} ms", seconds * 1e3),
        seconds => format!("{:.1} µs", seconds * 1e6),
    }
}
