//! `opscope engines`: the engines that can run a model here, and their abilities.

mod question;
mod speedup;

use std::ffi::OsString;
use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use opscope::engine::{EngineFacts, EngineName, EngineState, Library, LibraryError, survey};
use opscope::model::Capabilities;
use opscope::text::Column::Words;
use opscope::text::TextTable;
use rustix::process::Pid;
use serde_json::json;

use self::question::{END, ask};
pub use self::speedup::faster;
use crate::again::die_with;
use crate::exit::{Exit, Failure};
use crate::terminal::{print, print_json, shown_path};
pub use question::{AttemptArguments, run as attempt};
pub use speedup::{runs, with_hint};

/// The arguments of `opscope engines`.
#[derive(Debug, Args)]
pub struct EnginesArguments {
    /// The file of ONNX Runtime's library, libonnxruntime.so [default: looked for]
    #[arg(long, value_name = "PATH")]
    engine_library: Option<PathBuf>,
    /// One JSON document
    #[arg(long)]
    json: bool,
    /// Look at the libraries in this process, for the process of this number, and die with it
    #[arg(long, hide = true, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    asked_by: Option<i32>,
}

/// Runs the command.
pub fn run(arguments: &EnginesArguments) -> Result<Exit, Failure> {
    let library = arguments.engine_library.as_deref();
    let print = if arguments.json { print_json } else { print };
    if let Some(parent) = arguments.asked_by.and_then(Pid::from_raw) {
        die_with(parent).map_err(Failure::failed)?;
        print(shown(&survey(library), arguments.json))?;
        print(END.to_owned())?;
        return Ok(Exit::Done);
    }
    let mut words: Vec<OsString> = vec!["engines".into(), format!("--asked-by={}", std::process::id()).into()];
    words.extend(arguments.json.then(|| "--json".into()));
    words.extend(library.into_iter().flat_map(|path| ["--engine-library".into(), path.into()]));
    let answer = ask(words).unwrap_or_else(|reason| {
        let error = match Library::locate(library) {
            Ok(path) => LibraryError::Unusable { path, reason: reason.to_string() },
            Err(error) => error,
        };
        let other = EngineFacts::unavailable(EngineName::OnnxRuntime, error.to_string());
        shown(&[EngineFacts::embedded(), other], arguments.json)
    });
    print(answer.trim_end().to_owned())?;
    Ok(Exit::Done)
}

fn shown(engines: &[EngineFacts], json: bool) -> String {
    match json {
        true => json!({ "schema": "opscope.engines/1", "engines": engines }).to_string(),
        false => engines.iter().map(text).collect::<Vec<_>>().join("\n\n"),
    }
}

fn text(engine: &EngineFacts) -> String {
    let name = engine.name;
    let (version, library, providers, capabilities) = match &engine.state {
        EngineState::Unavailable { reason } => return format!("{name} is not available: {reason}"),
        EngineState::Available { version, library, providers, capabilities } => {
            (version, library, providers, capabilities)
        }
    };
    let mut text = format!("{name} {version}");
    match library {
        None => text.push_str(", built in\n"),
        Some(path) => {
            let _ = writeln!(text, ", {}\nproviders: {}", shown_path(path), providers.join(", "));
        }
    }
    let titles = capabilities.iter().map(|facts| Words(facts.fidelity.name()));
    let mut table = TextTable::new([Words("it can")].into_iter().chain(titles).collect::<Vec<_>>());
    for (index, (what, _)) in Capabilities::default().named().into_iter().enumerate() {
        let can = capabilities.iter().map(|facts| if facts.capabilities.named()[index].1 { "yes" } else { "no" });
        table.row([what].into_iter().chain(can).map(str::to_owned));
    }
    text.push_str(table.text().trim_end());
    for skipped in &engine.skipped {
        let _ = write!(text, "\nskipped: {}", opscope::text::shown_text(skipped));
    }
    text
}
