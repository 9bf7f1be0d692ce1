//! `opscope dump` and `opscope profile`: a dump or a recording of a program that runs already and makes its sessions with
//! ONNX Runtime. It is made beside the program's next run, on the same inputs.

use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::Duration;

use clap::Args;
use opscope::debug::client::Client;
use opscope::debug::{Capture, CaptureKind, CaptureNote, DebugError, ErrorCode};
use opscope::files::read;
use opscope::local_time;
use serde_json::json;
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;

use crate::attach::connect_served;
use crate::exit::{Exit, Failure};
use crate::terminal::{print, print_json, shown_path};

/// The arguments of `opscope dump` and `opscope profile`.
#[derive(Debug, Args)]
pub struct CaptureArguments {
    /// The program, by its process number or the path of its debug server's socket
    #[arg(long, value_name = "PID|PATH")]
    attach: Option<String>,
    /// What people write who mean another command
    #[arg(hide = true, conflicts_with = "attach")]
    models: Vec<PathBuf>,
    /// The directory of results
    #[arg(long, value_name = "DIRECTORY", default_value = "out")]
    output: PathBuf,
    /// The name of the result in it [default: date and time]
    #[arg(long, value_name = "NAME")]
    output_dirname: Option<String>,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

/// How often the command looks whether the program is done.
const PAUSE: Duration = Duration::from_millis(20);

/// The largest note that is read.
const LARGEST_NOTE: u64 = 1 << 16;

/// Runs `opscope dump`.
pub fn dump(arguments: &CaptureArguments) -> Result<Exit, Failure> {
    let instead = "to write what operators compute, write: opscope benchmark MODEL --dump --output DIR";
    run(arguments, CaptureKind::Dump, ("dump", "dump"), instead)
}

/// Runs `opscope profile`.
pub fn profile(arguments: &CaptureArguments) -> Result<Exit, Failure> {
    let instead = "to see where the time goes, write: opscope benchmark MODEL --profiler --output DIR";
    run(arguments, CaptureKind::Profile, ("profile", "profiler"), instead)
}

/// `instead` is the command that runs a model by itself.
fn run(
    arguments: &CaptureArguments,
    kind: CaptureKind,
    (command, folder): (&str, &str),
    instead: &str,
) -> Result<Exit, Failure> {
    let Some(program) = &arguments.attach else {
        let text = format!("`opscope {command}` is for a program that runs, which --attach names; {instead}");
        return Err(Failure::wrong_use(text));
    };
    let name = match &arguments.output_dirname {
        Some(name) if name.is_empty() || name.contains('/') || name.starts_with('.') => {
            let right = "write a name such as run1, without '/' and without a '.' at its beginning";
            return Err(Failure::wrong_use(format!("'{name}' cannot be --output-dirname: {right}")));
        }
        Some(name) => name.clone(),
        None => local_time().format("%Y_%m_%d-%H_%M_%S").to_string(),
    };
    let shown = arguments.output.join(folder).join(name);
    // The program's working directory is another one.
    let directory = std::path::absolute(&shown).map_err(Failure::failed)?;
    if directory.symlink_metadata().is_ok() {
        return Err(Failure::wrong_use(format!("{} exists; choose another --output-dirname", shown_path(&shown))));
    }
    let client = connect_served(program).map_err(Failure::failed)?;
    let place = tempfile::Builder::new().prefix("opscope-capture-").tempdir().map_err(Failure::failed)?;
    let capture = Capture { capture: kind, directory, note: place.path().join("note.json") };
    ask(&client, &capture)?;
    let Some(note) = wait(&client, &capture)? else {
        // Ending the process would leave the directory of the note.
        drop(place);
        process::exit(130);
    };
    report(arguments, &shown, &note)
}

fn ask(client: &Client, capture: &Capture) -> Result<(), Failure> {
    let wanted = serde_json::to_value(capture).map_err(Failure::failed)?;
    client.instrument(wanted).map_err(|error: DebugError| match error.code() {
        ErrorCode::Instrument => Failure::failed(format!(
            "process {} makes no dumps or recordings of sessions; a PyTorch program is attached to by `opscope torch dump --attach`",
            client.hello().pid
        )),
        _ => Failure::failed(error),
    })
}

/// Waits until the program has made it. Returns `None` on Ctrl-C: then the program forgets it, unless it has begun.
fn wait(client: &Client, capture: &Capture) -> Result<Option<CaptureNote>, Failure> {
    let mut interrupts = Signals::new([SIGINT]).map_err(Failure::failed)?;
    let mut is_over = false;
    loop {
        if let Ok(note) = read(&capture.note, LARGEST_NOTE) {
            return serde_json::from_slice(&note)
                .map(Some)
                .map_err(|error| Failure::failed(format!("the program's note: {error}")));
        }
        if is_over {
            return Err(Failure::failed("the program ended before it was done"));
        }
        if interrupts.pending().next().is_some() {
            let _ = ask(client, &Capture { capture: CaptureKind::Nothing, ..capture.clone() });
            return Ok(None);
        }
        // The note may have been written just before.
        is_over = client.gone().is_some();
        thread::sleep(PAUSE);
    }
}

fn report(arguments: &CaptureArguments, directory: &Path, note: &CaptureNote) -> Result<Exit, Failure> {
    let is_there = directory.join("manifest.json").exists();
    if arguments.json {
        let path = is_there.then(|| directory.to_string_lossy());
        print_json(json!({ "schema": "opscope.capture/1", "path": path, "model": note.model, "error": note.error }))?;
    } else if is_there {
        print(format_args!("{}: of the session of '{}'", shown_path(directory), note.model))?;
    }
    match &note.error {
        None => Ok(Exit::Done),
        Some(error) if is_there => Err(Failure::incomplete(format!("it is not complete: {error}"))),
        Some(error) => Err(Failure::failed(error)),
    }
}
