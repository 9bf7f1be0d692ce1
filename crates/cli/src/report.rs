//! `opscope report`: one HTML page from recordings, summaries and dumps.

use std::path::{Path, PathBuf};

use clap::Args;
use opscope::profile::Manifest;
use opscope::text::{counted, shell_path};
use opscope_job::roofline::{Roofline, Unmeasured, of_recording};
use opscope_report::{Report, ReportError};
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::options::{Environment, is_model};
use crate::terminal::{Messages, Progress, print, print_json, shown_path};

/// The arguments of `opscope report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Runs by their names (OUT/RUN), recordings, dumps, summaries (NAME_summary.json), directories of `opscope precision`,
    /// and output directories, in any mix
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The page [default: report.html, or report-2.html and so on where that exists]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The model that was run, for its graph; without it, the file that the run names
    #[arg(long, value_name = "FILE.onnx")]
    model: Vec<PathBuf>,
    /// The path of the page and what is missing, as a JSON object
    #[arg(long)]
    json: bool,
    /// Print only errors, and the document of --json
    #[arg(long)]
    quiet: bool,
}

/// Runs the command.
pub fn run(arguments: &ReportArguments) -> Result<Exit, Failure> {
    let messages = Messages { quiet: arguments.quiet, debug: false };
    if let Some(output) = arguments.output.as_ref().filter(|output| output.symlink_metadata().is_ok()) {
        // Writing would detect this, too, but only after all the work.
        return Err(Failure::wrong_use(ReportError::Exists(output.clone())));
    }
    if let Some(model) = arguments.paths.iter().find(|path| is_model(path.as_os_str()) && path.is_file()) {
        let (shown, model) = (shown_path(model), shell_path(model));
        return Err(Failure::wrong_use(format!(
            "{shown} is a model, and a page is of runs; write: opscope benchmark {model} --output out --profiler, and then: \
             opscope report out"
        )));
    }
    let progress = Progress::new(arguments.quiet);
    let read = Report::read(&arguments.paths, &|path| progress.message(format!("reading {}", shown_path(path))));
    let written = read.map_err(Failure::wrong_use).and_then(|mut report| {
        report.draw_graphs(&arguments.model).map_err(Failure::wrong_use)?;
        report.compare_with_machines(machine_of);
        Ok((write(&report, arguments)?, report))
    });
    progress.finish();
    let (path, report) = written?;
    let problems: Vec<String> = report.problems().collect();
    if arguments.json {
        print_json(json!({ "schema": "opscope.report/1", "path": path.to_string_lossy(), "problems": problems }))?;
    } else if !arguments.quiet {
        print(shown_path(&path))?;
    }
    if report.left_out() > 0 {
        let older = counted(report.left_out(), "older run");
        messages.note(format!("the page shows the newest runs; {older} can be shown by name: opscope report OUT/RUN"));
    }
    problems.iter().for_each(|problem| messages.warning(problem));
    Ok(if problems.is_empty() { Exit::Done } else { Exit::Incomplete })
}

/// Returns what the machine of a recording reaches. If that is not stored, measuring takes a second. Returns `None` on
/// failure, because a page without it is better than none.
fn machine_of(manifest: &Manifest) -> Option<Roofline> {
    let directory = std::env::vars_os().collect::<Environment>().cache_directory();
    of_recording(manifest, directory.as_deref(), Unmeasured::Measure).ok().flatten()
}

/// Writes the page to the path that was given, or to the first free one.
fn write(report: &Report, arguments: &ReportArguments) -> Result<PathBuf, Failure> {
    let path = match &arguments.output {
        Some(path) => path.clone(),
        None => (1u32..).map(name).find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| name(1)),
    };
    match report.write(&path) {
        Ok(()) => Ok(path),
        Err(error @ ReportError::Exists(_)) => Err(Failure::wrong_use(error)),
        Err(error) => Err(Failure::failed(error)),
    }
}

fn name(number: u32) -> PathBuf {
    match number {
        0 | 1 => Path::new("report.html").to_owned(),
        more => PathBuf::from(format!("report-{more}.html")),
    }
}
