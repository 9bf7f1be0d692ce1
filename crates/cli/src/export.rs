//! `opscope export`: timelines and tables of a recording.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use opscope::benchmark::Stage;
use opscope::profile::{Exported, Format, ProfileError, Recording};
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::options::one_of;
use crate::terminal::{Messages, Progress, print, print_json, shown_path};

/// The arguments of `opscope export`.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// The directory that a profiled run left
    recording: PathBuf,
    /// One format: timeline.pftrace, for ui.perfetto.dev; timeline.json, for chrome://tracing and others; or the tables
    /// op_summary.csv, op_statistic.csv, api_statistic.csv, and msprof_tx.csv if the user's code marked something. All of
    /// them if not given
    #[arg(long, value_parser = one_of(Format::ALL, |format| format.name()))]
    format: Option<Format>,
    /// Where to; into the recording's own directory if not given
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// The paths of what was written, as a JSON array
    #[arg(long)]
    json: bool,
    /// No messages but errors
    #[arg(long)]
    quiet: bool,
}

/// Runs the command.
pub fn run(arguments: &ExportArguments) -> Result<Exit, Failure> {
    let messages = Messages { quiet: arguments.quiet, debug: false };
    let mut recording = Recording::open(arguments.recording.clone()).map_err(Failure::wrong_use)?;
    let progress = Arc::new(Progress::new(arguments.quiet));
    progress.stage(Stage::Exporting);
    recording.set_progress({
        let progress = Arc::clone(&progress);
        move |read, total| progress.advanced(read, total)
    });
    let formats = arguments.format.map_or(Format::ALL.to_vec(), |format| vec![format]);
    let into = arguments.output.as_deref().unwrap_or(&arguments.recording);
    std::fs::create_dir_all(into).map_err(|error| Failure::failed(format!("{into:?} cannot be created: {error}")))?;
    let exported: Result<Vec<Exported>, ProfileError> =
        formats.into_iter().map(|format| recording.export(format, into)).collect();
    progress.finish();
    let exported = exported.map_err(Failure::failed)?;
    let written: Vec<&PathBuf> = exported.iter().flat_map(|exported| &exported.written).collect();
    if arguments.json {
        print_json(json!(written))?;
    } else {
        written.iter().try_for_each(|path| print(shown_path(path)))?;
    }
    for path in exported.iter().flat_map(|exported| &exported.existed) {
        messages.note(format!("{} exists already and stays as it is", path.display()));
    }
    for problem in recording.problems() {
        messages.warning(format!("the recording is incomplete: {problem}"));
    }
    Ok(if recording.is_complete() { Exit::Done } else { Exit::Incomplete })
}
