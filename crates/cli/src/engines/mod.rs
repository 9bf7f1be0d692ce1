//! `opscope engines`: what can run a model here, and what it can do.

mod attempt;
mod refused;

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use opscope::engine::{EngineFacts, EngineState, survey};
use opscope::model::Capabilities;
use opscope::text::Column::Words;
use opscope::text::TextTable;
use serde_json::json;

pub use self::attempt::{AttemptArguments, run as attempt};
pub use self::refused::with_hint;
use crate::exit::{Exit, Failure};
use crate::terminal::{print, print_json, shown_path};

/// The arguments of `opscope engines`.
#[derive(Debug, Args)]
pub struct EnginesArguments {
    /// The file of ONNX Runtime's library, libonnxruntime.so [default: looked for]
    #[arg(long, value_name = "PATH")]
    engine_library: Option<PathBuf>,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &EnginesArguments) -> Result<Exit, Failure> {
    let engines = survey(arguments.engine_library.as_deref());
    if arguments.json {
        print_json(json!({ "schema": "opscope.engines/1", "engines": engines }))?;
    } else {
        print(engines.iter().map(text).collect::<Vec<_>>().join("\n\n"))?;
    }
    Ok(Exit::Done)
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
