//! `opscope benchmark`.

mod attachable;
mod dump;
mod job;
mod text;

use std::sync::Arc;
use std::time::Duration;

use opscope::acl_json::{self, AclConfig};
use opscope::benchmark::{Instrumentation, Job, JobError, MeasureError, Report, Stage, Surroundings, apply_acl_json};
use opscope::model::EngineError;
use opscope::onnx::Graph;
use opscope::{Session, SessionError};

use self::attachable::Attachable;
use crate::exit::{Exit, Failure};
use crate::options::{
    self, BenchmarkArguments, BenchmarkRequest, Environment, InstrumentChoice, NoteKind, RecordMemory,
};
use crate::terminal::{Interrupt, Messages, Progress, print};

/// Benchmarks.
pub fn run(arguments: BenchmarkArguments) -> Result<Exit, Failure> {
    let environment: Environment = std::env::vars_os().collect();
    let resolved = options::resolve(arguments, &environment).map_err(Failure::wrong_use)?;
    let request = resolved.request;
    let messages = Messages { quiet: request.reporting.quiet, debug: request.reporting.debug };
    for note in &resolved.notes {
        match note.kind {
            NoteKind::Note => messages.note(note),
            NoteKind::Warning => messages.warning(note),
        }
    }
    let interrupt = Interrupt::listen()?;
    let progress = Progress::new(request.reporting.quiet);
    let surroundings = Surroundings {
        cancel: interrupt.flag(),
        stage: &|stage| {
            interrupt.enter(stage);
            messages.debug(stage);
            progress.stage(stage);
        },
        advanced: &|done, planned| progress.advanced(done, planned),
    };
    let mut job = job::from_request(&request)?;
    messages.debug(format!("{job:?}"));
    if let InstrumentChoice::Dump(dumped) = &request.instrument
        && dumped.dump_estimate == Some(true)
    {
        let estimates = job.estimate().map_err(failure)?;
        progress.finish();
        return print(text::estimates(&estimates, request.reporting.json)).map(|()| Exit::Done);
    }
    let _server = match &request.debug_server {
        None => None,
        Some(wish) => {
            let (debugger, server) = Attachable::start(wish, messages)?;
            job.debugger = Some(debugger);
            Some(server)
        }
    };
    let outcome = match &request.instrument {
        InstrumentChoice::AclJson { path, check_only, memory } => {
            let config = read_acl_json(path, messages)?;
            interrupt.enter(Stage::Loading);
            let graph = Graph::load(&request.model).map_err(Failure::wrong_use)?;
            let graph = by_acl_json(&mut job, graph, &config, memory, messages)?;
            if *check_only {
                progress.finish();
                let fits = format!("{} fits {}", path.display(), request.model.display());
                let json = serde_json::json!({ "schema": "opscope.check/1", "fits": true, "acl_json": path, "model": request.model });
                print(if request.reporting.json { json.to_string() } else { fits })?;
                return Ok(Exit::Done);
            }
            Session::with_graph(Arc::new(graph), &job.load_options())
                .map_err(JobError::from)
                .and_then(|session| job.run_in(&session, &surroundings))
        }
        _ => job.run(&surroundings),
    };
    progress.finish();
    let report = outcome.map_err(failure)?;
    show(&report, &job, &request)?;
    if let Some(debugger) = report.debugger.as_ref().filter(|debugger| debugger.stopped_runs > 0) {
        let stopped = debugger.stopped_runs;
        messages.warning(format!("a debugger stopped {stopped} of the runs: the times hold its pauses, too"));
    }
    for reason in &report.incomplete_because {
        messages.warning(format!("incomplete: {reason}"));
    }
    Ok(if report.complete { Exit::Done } else { Exit::Incomplete })
}

fn show(report: &Report, job: &Job, request: &BenchmarkRequest) -> Result<(), Failure> {
    if request.reporting.json {
        return print(serde_json::to_string_pretty(report).map_err(Failure::failed)?);
    }
    print(text::render(report, job).trim_end())
}

fn read_acl_json(path: &std::path::Path, messages: Messages) -> Result<AclConfig, Failure> {
    let here = std::env::current_dir().map_err(|error| Failure::failed(format!("the working directory: {error}")))?;
    let config = AclConfig::read(path, &here).map_err(|problems| all(path, &problems))?;
    tell(&config.notes, messages);
    Ok(config)
}

/// Makes the job what the file asks for.
fn by_acl_json(
    job: &mut Job,
    graph: Graph,
    config: &AclConfig,
    memory: &RecordMemory,
    messages: Messages,
) -> Result<Graph, Failure> {
    let defaults = job::profiler_options(None, memory);
    let (instrumentation, notes) =
        apply_acl_json(config, &graph, &job.run_name, &defaults).map_err(Failure::wrong_use)?;
    tell(&notes, messages);
    job::watch(job, instrumentation);
    if let Instrumentation::Profiler { directory, .. } = &job.instrumentation {
        messages
            .note(format!("only the raw recording is written; export it with: opscope export {}", directory.display()));
    }
    Ok(graph)
}

fn tell(notes: &[acl_json::Note], messages: Messages) {
    for note in notes {
        match note.kind {
            acl_json::NoteKind::NoEffect => messages.note(note),
            acl_json::NoteKind::Warning => messages.warning(note),
        }
    }
}

fn all(path: &std::path::Path, problems: &[acl_json::Problem]) -> Failure {
    let lines: Vec<_> = problems.iter().map(|problem| format!("\n  {problem}")).collect();
    Failure::wrong_use(format!("{} cannot be used:{}", path.display(), lines.concat()))
}

fn failure(error: JobError) -> Failure {
    if let JobError::Nothing { kept: Some(_) } = &error {
        return Failure::incomplete(error);
    }
    let wrong_use = match &error {
        JobError::Selection(_) => true,
        JobError::Session(SessionError::File(_)) | JobError::Input(_) | JobError::Place(_) => true,
        JobError::Measure { source: MeasureError::Input(_), .. } => true,
        JobError::Measure { source: MeasureError::Engine(error), .. } => matches!(
            error,
            EngineError::InputCount { .. } | EngineError::InputType { .. } | EngineError::InputShape { .. }
        ),
        _ => false,
    };
    if wrong_use { Failure::wrong_use(error) } else { Failure::failed(error) }
}

/// Milliseconds, as a duration for people.
fn millis(millis: f64) -> String {
    let duration = Duration::from_secs_f64((millis / 1e3).max(0.0));
    match duration.as_secs_f64() {
        seconds if seconds >= 1.0 => format!("{seconds:.2} s"),
        seconds if seconds >= 1e-3 => format!("{:.2} ms", seconds * 1e3),
        seconds => format!("{:.1} µs", seconds * 1e6),
    }
}
