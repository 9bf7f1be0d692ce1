//! `opscope import`: the traces and dumps of other tools.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use clap::Args;
use opscope::text::{counted, grouped, shown_size};
use opscope_import::{
    DumpOptions, ImportError, ImportedTrace, Steps, TraceOptions, TracedDevice, import_dump, import_trace,
    is_foreign_dump,
};
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};
use crate::terminal::{Messages, Progress, cancelled, print, print_json, shown_path};

/// The arguments of `opscope import`.
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// A trace: of torch.profiler, ONNX Runtime, Nsight Systems (.sqlite), rocprofv3, Perfetto, or Chrome trace events;
    /// several are the ranks of one job. Or a dump: of msprobe, SGLang, TensorRT-LLM or polygraphy, or .pt, .safetensors,
    /// .npz
    #[arg(required = true, value_name = "FILE|DIR")]
    sources: Vec<PathBuf>,
    /// The directory for results
    #[arg(long, value_name = "DIR", default_value = "out")]
    output: PathBuf,
    /// The name of the result in it [default: that of the file]
    #[arg(long, value_name = "NAME")]
    output_dirname: Option<PathBuf>,
    /// The ranges that are runs: a name, or re:PATTERN [default: steps of torch.profiler, runs of ONNX Runtime; else the
    /// whole trace]
    #[arg(long, value_name = "RANGE")]
    run: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Print only errors, and the document of --json
    #[arg(long)]
    quiet: bool,
}

/// A flag that Ctrl-C sets, and the number of the signal.
type Stop = (Arc<AtomicBool>, Arc<AtomicUsize>);

/// How many kinds of events that were not imported are printed.
const MOST_KINDS: usize = 8;

/// Runs the command.
pub fn run(arguments: &ImportArguments) -> Result<Exit, Failure> {
    let messages = Messages { quiet: arguments.quiet, debug: false };
    let stop = cancelled()?;
    let name = match &arguments.output_dirname {
        Some(name) => name.clone(),
        None => PathBuf::from(name_of(&arguments.sources[0])?),
    };
    if let [source] = &arguments.sources[..]
        && is_foreign_dump(source)
    {
        return dump(arguments, source, &arguments.output.join("dump").join(name), &stop);
    }
    let place = arguments.output.join("profiler").join(name);
    let steps = match &arguments.run {
        Some(text) => Steps::new(text).map_err(|error| Failure::wrong_use(format!("--run {text}: {error}")))?,
        None => Steps::default(),
    };
    let mut imported = Vec::new();
    for (number, source) in arguments.sources.iter().enumerate() {
        let directory = match arguments.sources.len() {
            1 => place.clone(),
            _ => place.join(format!("rank{number}")),
        };
        imported.push(import_one(source, &directory, &steps, &stop, arguments.quiet)?);
    }
    if arguments.json {
        let traces: Vec<Value> =
            arguments.sources.iter().zip(&imported).map(|(source, one)| one.json(source)).collect();
        print_json(json!({ "schema": "opscope.import/1", "traces": traces }))?;
    } else if !arguments.quiet {
        imported.iter().try_for_each(tell)?;
    }
    for one in &imported {
        one.notes.iter().for_each(|note| messages.note(note));
        one.damage.iter().for_each(|damage| messages.warning(damage));
    }
    let is_whole = imported.iter().all(|one| one.damage.is_empty());
    Ok(if is_whole { Exit::Done } else { Exit::Incomplete })
}

/// Imports a dump.
fn dump(arguments: &ImportArguments, source: &Path, directory: &Path, stop: &Stop) -> Result<Exit, Failure> {
    let messages = Messages { quiet: arguments.quiet, debug: false };
    if let Some(run) = &arguments.run {
        return Err(Failure::wrong_use(format!("--run {run} is for traces, and {} is a dump", source.display())));
    }
    let progress = Arc::new(Progress::new(arguments.quiet));
    let shown = Arc::clone(&progress);
    let read = AtomicU64::new(0);
    let told = move |bytes| {
        let all = read.fetch_add(bytes, Ordering::Relaxed) + bytes;
        shown.message(format!("{} of tensors", shown_size(all)));
    };
    let imported =
        import_dump(source, directory, &DumpOptions { cancel: Arc::clone(&stop.0), progress: Some(Arc::new(told)) });
    progress.finish();
    let imported = imported.map_err(|error| failure(error, stop))?;
    if arguments.json {
        let directories: Vec<_> = imported.directories.iter().map(|path| path.to_string_lossy()).collect();
        print_json(json!({
            "schema": "opscope.import/1",
            "dump": {
                "source": source.to_string_lossy(),
                "directories": directories,
                "format": imported.format,
                "tensors": imported.tensors,
                "bytes": imported.bytes,
                "statistics_only": imported.statistics_only,
                "complete": imported.complete,
                "incomplete_because": imported.missing,
            },
        }))?;
    } else if !arguments.quiet {
        let tensors = counted(grouped(imported.tensors), "tensor");
        let size = shown_size(imported.bytes);
        print(format!("imported      {tensors}, {size} ({})", imported.format))?;
        if imported.statistics_only > 0 {
            print(format!("statistics    {} of them have no elements", grouped(imported.statistics_only)))?;
        }
        imported.directories.iter().try_for_each(|path| print(format!("dump          {}", shown_path(path))))?;
    }
    imported.missing.iter().for_each(|missing| messages.warning(missing));
    Ok(if imported.complete { Exit::Done } else { Exit::Incomplete })
}

fn import_one(
    source: &Path,
    directory: &Path,
    steps: &Steps,
    stop: &Stop,
    quiet: bool,
) -> Result<ImportedTrace, Failure> {
    let progress = Arc::new(Progress::new(quiet));
    let shown = Arc::clone(&progress);
    let options = TraceOptions {
        steps: steps.clone(),
        cancel: Arc::clone(&stop.0),
        progress: Some(Arc::new(move |done, all| shown.advanced(done, all))),
    };
    let imported = import_trace(source, directory, &options);
    progress.finish();
    imported.map_err(|error| failure(error, stop))
}

fn failure(error: ImportError, stop: &Stop) -> Failure {
    match error {
        ImportError::Cancelled => std::process::exit(128 + stop.1.load(Ordering::Relaxed) as i32),
        ImportError::Unknown { .. } | ImportError::Io { action: "read", .. } => Failure::wrong_use(error),
        _ => Failure::failed(error),
    }
}

/// Returns the name of a file without what says its format.
fn name_of(source: &Path) -> Result<String, Failure> {
    let name = source.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.trim_end_matches(".gz");
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    match stem {
        "" | "." | ".." => {
            Err(Failure::wrong_use(format!("{} has no name; give one with --output-dirname", source.display())))
        }
        _ => Ok(stem.to_owned()),
    }
}

/// Prints what became of a trace.
fn tell(imported: &ImportedTrace) -> Result<(), Failure> {
    let ImportedTrace { format, events, imported: of_them, .. } = imported;
    print(format!("imported      {} of {} events ({format})", grouped(*of_them), grouped(*events)))?;
    for device in &imported.devices {
        print(format!("{}  {}", padded(&device.name), kernels(device, imported)))?;
    }
    if imported.devices.is_empty() {
        let operators = counted(grouped(imported.operators as u64), "operator");
        print(format!("operators     {operators} in {}", counted(grouped(imported.modules as u64), "module")))?;
    }
    print(format!("runs          {}", grouped(imported.runs as u64)))?;
    let mut kinds: Vec<(String, u64)> = Vec::new();
    for one in &imported.not_imported {
        match kinds.iter_mut().find(|(kind, _)| *kind == one.kind) {
            Some((_, count)) => *count += one.count,
            None => kinds.push((one.kind.clone(), one.count)),
        }
    }
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (place, (kind, count)) in kinds.iter().take(MOST_KINDS).enumerate() {
        let title = if place == 0 { "not imported" } else { "" };
        print(format!("{}  {} {kind}", padded(title), grouped(*count)))?;
    }
    if kinds.len() > MOST_KINDS {
        print(format!("{}  {} more kinds, all in manifest.json", padded(""), kinds.len() - MOST_KINDS))?;
    }
    print(format!("recording     {}", shown_path(&imported.directory)))
}

fn padded(title: &str) -> String {
    format!("{title:<12}")
}

fn kernels(device: &TracedDevice, imported: &ImportedTrace) -> String {
    let tied = match device.kernels - device.tied {
        0 => "all tied".to_owned(),
        loose if loose == device.kernels => "none tied to what launched it".to_owned(),
        loose => format!("{} tied, {} not", grouped(device.tied), grouped(loose)),
    };
    let kernels = counted(grouped(device.kernels), "kernel");
    let operators = counted(grouped(imported.operators as u64), "operator");
    let modules =
        counted(grouped(imported.modules as u64), "module or range").replace("module or ranges", "modules or ranges");
    match (imported.operators, imported.modules) {
        _ if device.tied == 0 => format!("{kernels}, {tied}"),
        (0, 0) => format!("{kernels}, {tied}"),
        (0, _) => format!("{kernels}, {tied} to {modules}"),
        (_, 0) => format!("{kernels}, {tied} to {operators}"),
        _ => format!("{kernels}, {tied} to {operators} of {modules}"),
    }
}
