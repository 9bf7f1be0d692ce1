//! `opscope inspect`: what a model, a dump or a recording contains.
//!
//! The files of one run, which is given by its name: `OUT/RUN`.

mod engine;
mod model;
mod recording;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use opscope::dump::Inspection;
use opscope::onnx::Graph;
use opscope::text::shell_path;
use opscope_job::benchmark::StoredRun;
use serde_json::json;

use self::engine::Verdict;
pub use self::model::signature;
use self::recording::RecordingArguments;
use crate::artifact::{Artifact, described, read};
use crate::exit::{Exit, Failure};
use crate::isolate::Invocation;
use crate::options::EngineArguments;
use crate::terminal::{print, print_json, shown_path, table_width};

/// The arguments of `opscope inspect`.
#[derive(Debug, Args)]
pub struct InspectArguments {
    /// A model, a recording, a dump or a file of one, or anything else that opscope wrote; or a run by its name,
    /// OUT/RUN
    path: PathBuf,
    /// Rows of the tables of a recording or a dump
    #[arg(long, value_name = "N", default_value_t = 20)]
    rows: usize,
    /// List every operator of a model, with its attributes, and what it takes and gives
    #[arg(long)]
    operators: bool,
    #[command(flatten)]
    recording: RecordingArguments,
    #[command(flatten)]
    engine: EngineArguments,
    /// Let the engine load the model in a process of its own: a crash of its library is then an error of this command
    #[arg(long)]
    isolate: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
    /// Only say whether a dump is whole: counts, sizes, and the hash of every tensor
    #[arg(long, conflicts_with = "json")]
    check: bool,
}

/// Runs the command.
pub fn run(arguments: &InspectArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let Some(run) = StoredRun::find(&arguments.path) else { return one(&arguments.path, arguments, invocation) };
    if arguments.json {
        let recording = run.recording.as_deref().filter(|_| arguments.recording != RecordingArguments::default());
        if let Some(recording) = recording {
            let (run, recording) = (arguments.path.display(), shell_path(recording));
            return Err(Failure::wrong_use(format!(
                "--json of the run {run} says where its parts are; for its recording write: opscope inspect {recording}"
            )));
        }
        return show_json(&run);
    }
    let mut parts: Vec<&PathBuf> = [&run.recording, &run.dump].into_iter().flatten().collect();
    match (arguments.check, &run.dump) {
        (true, None) => {
            let message = format!("--check is for dumps, and {} has none", arguments.path.display());
            return Err(Failure::wrong_use(message));
        }
        (true, Some(dump)) => parts = vec![dump],
        (false, _) => show(&run)?,
    }
    let of_recordings = arguments.recording != RecordingArguments::default();
    parts.retain(|part| !of_recordings || run.dump.as_ref() != Some(part));
    let mut exit = Exit::Done;
    for part in parts {
        if !arguments.check {
            print("")?;
        }
        if one(part, arguments, invocation)? == Exit::Incomplete {
            exit = Exit::Incomplete;
        }
    }
    Ok(exit)
}

/// Shows one model, dump or recording.
fn one(path: &Path, arguments: &InspectArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let is_model = path.extension().is_some_and(|extension| extension == "onnx" || extension == "om");
    let is_recording = path.join("records.bin").is_file();
    if arguments.check && (is_model || is_recording) {
        return Err(Failure::wrong_use(format!("--check is for dumps, and {} is not a dump", path.display())));
    }
    if !is_model && arguments.operators {
        return Err(Failure::wrong_use(format!("--operators is for models, and {} is not a model", path.display())));
    }
    if !is_recording && arguments.recording != RecordingArguments::default() {
        let options = "--group-depth, --distribution, --memory and --no-roofline";
        return Err(Failure::wrong_use(format!(
            "{options} are for recordings, and {} is not a recording",
            path.display()
        )));
    }
    if is_model {
        invocation.isolate(arguments.isolate, path)?.note("inspecting", false);
        return model(path, arguments);
    }
    if arguments.isolate {
        return Err(Failure::wrong_use(format!("--isolate is for models, and {} is not a model", path.display())));
    }
    if arguments.engine != EngineArguments::default() {
        return Err(Failure::wrong_use(format!("--engine is for models, and {} is not a model", path.display())));
    }
    if is_recording {
        return recording::show(path, arguments.rows, &arguments.recording, arguments.json);
    }
    if let Some(found) = Artifact::at(path).filter(|found| !found.is_shown) {
        if arguments.check {
            return Err(Failure::wrong_use(format!("--check is for dumps: {}: {}", shown_path(path), found.hint())));
        }
        if arguments.json {
            print_json(found.json())?
        } else {
            print(found.text())?
        }
        return Ok(Exit::Done);
    }
    let inspection = Inspection::of(path).map_err(Failure::wrong_use)?;
    match arguments {
        InspectArguments { json: true, .. } => print_json(inspection.json())?,
        InspectArguments { check: true, .. } => print(inspection.verdict().trim_end())?,
        _ => print(inspection.text_within(arguments.rows, table_width()).trim_end())?,
    }
    Ok(if inspection.dump.is_complete() { Exit::Done } else { Exit::Incomplete })
}

fn model(path: &Path, arguments: &InspectArguments) -> Result<Exit, Failure> {
    let graph = Arc::new(Graph::load(path).map_err(Failure::wrong_use)?);
    let verdict = if arguments.engine == EngineArguments::default() {
        None
    } else {
        let engine = arguments.engine.spec(&std::env::vars_os().collect()).map_err(Failure::wrong_use)?;
        Some(Verdict::of(&graph, &engine)?)
    };
    if arguments.json {
        let mut document = model::json(&graph);
        if let Some(verdict) = &verdict {
            document["engine"] = verdict.json();
        }
        print_json(document)?;
    } else {
        print(if arguments.operators { model::listed(&graph) } else { model::summary(&graph) })?;
        verdict.as_ref().map_or(Ok(()), |verdict| print(verdict.text()))?;
    }
    Ok(if verdict.is_none_or(|verdict| verdict.is_loaded()) { Exit::Done } else { Exit::Failed })
}

/// Shows where all files of a run are, and the time of an inference.
fn show(run: &StoredRun) -> Result<(), Failure> {
    let mut text = format!("{}: a run", shown_path(&run.path));
    if let Some(summary) = run.summary.as_deref().and_then(read) {
        let (of, inference) = described(&summary);
        let _ = write!(text, " of {of}");
        inference.iter().for_each(|inference| text += &format!("\n{inference}"));
    }
    for (what, path) in parts(run) {
        let _ = write!(text, "\n{what:<9}  {}", shown_path(path));
    }
    print(text)
}

/// Prints the same as JSON, with the summary's own document. Returns whether everything is complete.
fn show_json(run: &StoredRun) -> Result<Exit, Failure> {
    let mut document = json!({ "schema": "opscope.run/1", "path": run.path.to_string_lossy() });
    for (what, path) in parts(run) {
        document[what] = json!(path.to_string_lossy());
    }
    if let Some(summary) = run.summary.as_deref().and_then(read) {
        document["summary_content"] = summary;
    }
    print_json(document)?;
    let manifests = [&run.recording, &run.dump].into_iter().flatten().map(|path| path.join("manifest.json"));
    let are_complete =
        manifests.into_iter().all(|manifest| read(&manifest).is_some_and(|read| read["complete"] == true));
    Ok(if are_complete { Exit::Done } else { Exit::Incomplete })
}

fn parts(run: &StoredRun) -> impl Iterator<Item = (&'static str, &Path)> {
    let parts =
        [("summary", &run.summary), ("outputs", &run.outputs), ("recording", &run.recording), ("dump", &run.dump)];
    parts.into_iter().filter_map(|(what, path)| Some((what, path.as_deref()?)))
}
