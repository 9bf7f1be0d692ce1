//! `opscope benchmark`.

mod attachable;
mod dump;
mod job;
mod text;

use std::sync::Arc;
use std::time::Duration;

use opscope::acl_json::{self, AclConfig};
use opscope::benchmark::{
    AclError, Instrumentation, Job, JobError, MeasureError, Report, Stage, Surroundings, apply_acl_json,
};
use opscope::model::EngineError;
use opscope::onnx::{Graph, shown_text};
use opscope::{Session, SessionError};

use self::attachable::Attachable;
use crate::exit::{Exit, Failure};
use crate::options::{
    self, BenchmarkArguments, BenchmarkRequest, Environment, InstrumentChoice, NoteKind, RecordMemory,
};
use crate::terminal::{Interrupt, Messages, Progress, print, print_json};

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
        advanced: &|done, goal| progress.ran(done, goal),
    };
    let mut job = job::from_request(&request)?;
    messages.debug(format!("{job:?}"));
    if let InstrumentChoice::Dump(dumped) = &request.instrument
        && dumped.dump_estimate == Some(true)
    {
        let estimates = job.estimate().map_err(failure)?;
        progress.finish();
        let printed = if request.reporting.json {
            print_json(text::estimates_json(&estimates))
        } else {
            print(text::estimates(&estimates))
        };
        return printed.map(|()| Exit::Done);
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
            let graph = by_acl_json(&mut job, graph, (path, &config), memory, messages)?;
            if *check_only {
                progress.finish();
                let fits = format!("{} fits {}", path.display(), request.model.display());
                let json = serde_json::json!({ "schema": "opscope.check/1", "fits": true, "acl_json": path, "model": request.model });
                let printed = if request.reporting.json { print_json(json) } else { print(shown_text(&fits)) };
                return printed.map(|()| Exit::Done);
            }
            Session::with_graph(Arc::new(graph), &job.load_options())
                .map_err(JobError::from)
                .and_then(|session| job.run_in(&session, &surroundings))
        }
        _ => job.run(&surroundings),
    };
    progress.finish();
    let report = outcome.map_err(failure)?;
    if report.run != job.run_name.to_string_lossy() {
        messages.note(format!("the name {} is taken; this run is {}", job.run_name.display(), report.run));
    }
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
        return print_json(serde_json::to_string_pretty(report).map_err(Failure::failed)?);
    }
    print(text::render(report, job, request.reporting.rows).trim_end())
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
    (path, config): (&std::path::Path, &AclConfig),
    memory: &RecordMemory,
    messages: Messages,
) -> Result<Graph, Failure> {
    let defaults = job::profiler_options(None, memory);
    let applied = apply_acl_json(config, &graph, &job.run_name, &defaults);
    let (instrumentation, notes) = applied.map_err(|AclError(problems)| all(path, &problems))?;
    tell(&notes, messages);
    job::watch(job, instrumentation);
    if let Instrumentation::Profiler { .. } = &job.instrumentation {
        messages
            .note("only the raw recording is written; `opscope export DIR` makes the timeline and the tables of it");
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
    Failure::wrong_use(format!("{} cannot be used:", path.display())).with_problems(problems)
}

fn failure(error: JobError) -> Failure {
    if let JobError::Nothing { kept: Some(_) } = &error {
        return Failure::incomplete(error);
    }
    if let JobError::Selection(problems) = &error {
        return match &problems[..] {
            [one] => Failure::wrong_use(one),
            several => Failure::wrong_use("the selection does not fit the model:").with_problems(several),
        };
    }
    let wrong_use = match &error {
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
