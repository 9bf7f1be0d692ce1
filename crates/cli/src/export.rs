//! `opscope export`: timelines and tables of a recording, tables of a dump, and sets of many recordings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use opscope::dump::StoredDump;
use opscope::profile::{Exported, Format, ProfileError, Recording, ShownRuns, TimelineRuns};
use opscope::text::{counted, shown_size};
use opscope_job::benchmark::{Stage, StoredRun};
use opscope_tables::{Appended, TableSet};
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::options::one_of;
use crate::terminal::{Messages, Progress, print, print_json, shown_path};

/// The arguments of `opscope export`.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// The directory that a profiled run left, or the run by its name, OUT/RUN; for the format parquet also a dump;
    /// with --into any number of recordings
    #[arg(required = true, value_name = "RECORDING")]
    sources: Vec<PathBuf>,
    /// One format: timeline.pftrace, for ui.perfetto.dev; timeline.json, for chrome://tracing and others; the tables
    /// op_summary.csv, op_statistic.csv, api_statistic.csv, and msprof_tx.csv if the user's code marked something; or
    /// Parquet, for pandas, DuckDB, Polars and others [default: all but Parquet]
    #[arg(long, value_parser = one_of(ExportFormat::ALL, |format| format.name()), value_name = "FORMAT")]
    format: Option<ExportFormat>,
    /// Where to [default: the recording's own directory]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Append the Parquet tables of the recordings to the set in this directory, which is partitioned by date, model
    /// and host. A recording that is in it already stays as it is
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    into: Option<PathBuf>,
    /// How many runs timelines and op_summary.csv show: the first, the slowest, and those nearest to the median; or
    /// all. Without it, as many as fit into some ten megabytes. Parquet always has all
    #[arg(long, value_name = "N|all")]
    timeline_runs: Option<TimelineRuns>,
    /// The paths of what was written, as a JSON array
    #[arg(long)]
    json: bool,
    /// Print only errors, and the document of --json
    #[arg(long)]
    quiet: bool,
}

/// A format of exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExportFormat {
    /// A timeline, or tables as CSV.
    Profile(Format),
    /// Tables as Parquet.
    Parquet,
}

impl ExportFormat {
    /// Every format. The profile's formats come from the list of its crate, so that a new one is also offered here.
    const ALL: [Self; Format::ALL.len() + 1] = {
        let mut all = [Self::Parquet; Format::ALL.len() + 1];
        let mut place = 0;
        while place < Format::ALL.len() {
            all[place] = Self::Profile(Format::ALL[place]);
            place += 1;
        }
        all
    };

    fn name(&self) -> &'static str {
        match self {
            Self::Profile(format) => format.name(),
            Self::Parquet => "parquet",
        }
    }
}

/// Runs the command.
pub fn run(arguments: &ExportArguments) -> Result<Exit, Failure> {
    let messages = Messages { quiet: arguments.quiet, debug: false };
    if let Some(into) = &arguments.into {
        return append(arguments, into, messages);
    }
    let [source] = &arguments.sources[..] else {
        let count = arguments.sources.len();
        let message =
            format!("{count} recordings are given; export them one by one, or write --into DIR for a set of them");
        return Err(Failure::wrong_use(message));
    };
    let run = StoredRun::find(source);
    let dump = run.and_then(|run| run.dump.filter(|_| run.recording.is_none()));
    let source = match dump.filter(|_| arguments.format == Some(ExportFormat::Parquet)) {
        Some(dump) => dump,
        None => StoredRun::recording_at(source).map_err(Failure::wrong_use)?,
    };
    let source = &source;
    if arguments.format == Some(ExportFormat::Parquet) && !source.join("records.bin").exists() {
        return export_dump(arguments, source, messages);
    }
    let mut recording = Recording::open(source.clone()).map_err(Failure::wrong_use)?;
    let progress = shown_progress(&mut recording, arguments.quiet);
    let into = directory(arguments, source)?;
    let runs = arguments.timeline_runs.unwrap_or_default();
    let exported: Result<(Vec<Exported>, Option<ShownRuns>), Failure> = match arguments.format {
        Some(ExportFormat::Parquet) => opscope_tables::export_recording(&recording, &into)
            .map(|exported| (vec![exported], None))
            .map_err(Failure::failed),
        Some(ExportFormat::Profile(format)) => timelines(&recording, &[format], runs, &into).map_err(Failure::failed),
        None => timelines(&recording, &Format::ALL, runs, &into).map_err(Failure::failed),
    };
    progress.finish();
    let (exported, shown) = exported?;
    tell(&exported, arguments, messages)?;
    if let Some(shown) = shown {
        messages.note(format!("timelines and op_summary.csv show {shown}; --timeline-runs all shows all"));
    }
    Ok(completeness(&recording, messages))
}

/// Exports timelines. Returns the written files, and a note on the runs that they show if these are not all.
fn timelines(
    recording: &Recording,
    formats: &[Format],
    runs: TimelineRuns,
    into: &std::path::Path,
) -> Result<(Vec<Exported>, Option<ShownRuns>), ProfileError> {
    let excerpt = recording.excerpt(runs)?;
    let exported = formats.iter().map(|format| excerpt.export(*format, into)).collect::<Result<_, _>>()?;
    Ok((exported, excerpt.shown_runs()))
}

/// Returns a progress bar that follows the reading of a recording.
fn shown_progress(recording: &mut Recording, quiet: bool) -> Arc<Progress> {
    let progress = Arc::new(Progress::new(quiet));
    progress.stage(Stage::Exporting);
    recording.set_progress({
        let progress = Arc::clone(&progress);
        move |read, total| progress.advanced(read, total)
    });
    progress
}

/// Returns the directory to write to, which is created if necessary.
fn directory(arguments: &ExportArguments, source: &std::path::Path) -> Result<PathBuf, Failure> {
    let into = arguments.output.clone().unwrap_or_else(|| source.to_owned());
    std::fs::create_dir_all(&into).map_err(|error| Failure::failed(format!("{into:?} cannot be created: {error}")))?;
    Ok(into)
}

/// Prints the paths of what was written.
fn tell(exported: &[Exported], arguments: &ExportArguments, messages: Messages) -> Result<(), Failure> {
    let written: Vec<&PathBuf> = exported.iter().flat_map(|exported| &exported.written).collect();
    if arguments.json {
        print_json(json!(written.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>()))?;
    } else if !arguments.quiet {
        written.iter().try_for_each(|path| print(shown_path(path)))?;
    }
    for path in exported.iter().flat_map(|exported| &exported.existed) {
        messages.note(format!("{} exists already and stays as it is", path.display()));
    }
    Ok(())
}

/// Reports what a recording lacks.
fn completeness(recording: &Recording, messages: Messages) -> Exit {
    for problem in recording.problems() {
        messages.warning(format!("the recording is incomplete: {problem}"));
    }
    if recording.is_complete() { Exit::Done } else { Exit::Incomplete }
}

/// Appends recordings to a set. Checks all of them before it adds the first one, so that a wrong path adds nothing.
fn append(arguments: &ExportArguments, into: &Path, messages: Messages) -> Result<Exit, Failure> {
    if let Some(format @ ExportFormat::Profile(_)) = arguments.format {
        let message = format!("a set holds Parquet tables, not {}; leave --format out, or --into", format.name());
        return Err(Failure::wrong_use(message));
    }
    let recordings = arguments.sources.iter().map(|source| StoredRun::recording_at(source).map_err(Failure::wrong_use));
    let recordings: Vec<PathBuf> = recordings.collect::<Result<_, _>>()?;
    for source in &recordings {
        Recording::open(source.clone()).map_err(Failure::wrong_use)?;
    }
    let set = TableSet::open(into).map_err(Failure::failed)?;
    let (mut written, mut added, mut exit) = (Vec::<PathBuf>::new(), 0, Exit::Done);
    for source in &recordings {
        let mut recording = Recording::open(source.clone()).map_err(Failure::wrong_use)?;
        let progress = shown_progress(&mut recording, arguments.quiet);
        let appended = set.append(&recording);
        progress.finish();
        match appended.map_err(Failure::failed)? {
            Appended::Added(files) => {
                if !arguments.json && !arguments.quiet {
                    files.iter().try_for_each(|path| print(shown_path(path)))?;
                }
                written.extend(files);
                added += 1;
            }
            Appended::Existed(file) => {
                let (source, file) = (source.display(), file.display());
                messages.note(format!("{source} is in the set already and stays as it is: {file}"));
            }
        }
        if completeness(&recording, messages) == Exit::Incomplete {
            exit = Exit::Incomplete;
        }
    }
    if arguments.json {
        print_json(json!(written.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>()))?;
    }
    messages.note(total(&written, arguments.sources.len(), added, into));
    Ok(exit)
}

/// Describes how much was added to the set.
fn total(written: &[PathBuf], recordings: usize, added: usize, into: &Path) -> String {
    let bytes: u64 = written.iter().filter_map(|path| Some(path.metadata().ok()?.len())).sum();
    let earlier = match recordings - added {
        0 => String::new(),
        earlier => format!("; {earlier} were there already"),
    };
    let (recordings, files) = (counted(recordings, "recording"), counted(written.len(), "file"));
    format!("{added} of {recordings} added to {}: {files}, {}{earlier}", shown_path(into), shown_size(bytes))
}

/// Writes the statistics of a dump's tensors as a table.
fn export_dump(arguments: &ExportArguments, source: &Path, messages: Messages) -> Result<Exit, Failure> {
    let dump = StoredDump::open(source)
        .map_err(|error| Failure::wrong_use(error).with_hint("a recording or a dump would be right"))?;
    if arguments.output.is_none() && !source.is_dir() {
        let message = format!("{} is a file; say with --output DIR where its table should go", source.display());
        return Err(Failure::wrong_use(message));
    }
    let into = directory(arguments, source)?;
    let (exported, problems) = opscope_tables::export_dump(&dump, &into).map_err(Failure::failed)?;
    tell(&[exported], arguments, messages)?;
    let all: Vec<&String> = dump.problems.iter().chain(&problems).collect();
    for problem in &all {
        messages.warning(format!("the dump is incomplete: {problem}"));
    }
    if all.is_empty() && !dump.is_complete() {
        messages.warning("the dump is incomplete: its manifest says so");
    }
    Ok(if all.is_empty() && dump.is_complete() { Exit::Done } else { Exit::Incomplete })
}
