//! `opscope recover`: the records that a file-backed buffer held when its process ended.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use opscope::text::counted;
use opscope::trace::{self, Kind, RecoverError};
use serde_json::json;

use crate::artifact::Artifact;
use crate::exit::{Exit, Failure};
use crate::terminal::{print, print_json};

/// The arguments of `opscope recover`.
#[derive(Debug, Args)]
pub struct RecoverArguments {
    /// The file of a buffer
    file: PathBuf,
    /// Print every record, one JSON object a line
    #[arg(long)]
    records: bool,
    /// The report as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &RecoverArguments) -> Result<Exit, Failure> {
    let recovered = trace::recover(&arguments.file).map_err(|error| refusal(&arguments.file, &error))?;
    let report = &recovered.recovery;
    if arguments.records {
        for record in recovered.records() {
            let header = record.header();
            let kind = record.kind().map(Kind::name);
            let payload: String = record.payload().iter().map(|byte| format!("{byte:02x}")).collect();
            print_json(json!({
                "category": header.category.0, "kind": kind, "kind_number": header.kind, "payload": payload,
            }))?;
        }
    }
    let lost: u64 = report.damage.iter().map(|damage| damage.lost.get()).sum();
    if arguments.json {
        let damage = report
            .damage
            .iter()
            .map(|damage| json!({ "chunk": damage.chunk, "thread": damage.thread.0, "lost_bytes": damage.lost.get() }));
        print_json(json!({
            "schema": "opscope.recover/1", "records": report.records, "bytes": report.bytes.get(),
            "delivered": report.delivered, "dropped": report.dropped, "ended": report.ended,
            "process": report.process, "names": report.names.len(), "damage": damage.collect::<Vec<_>>(),
        }))?;
    } else if !arguments.records {
        let mut text = String::new();
        let state = if report.ended { "ended in order" } else { "did not end the buffer" };
        let _ = writeln!(text, "process    {} {state}", report.process);
        let _ = writeln!(text, "recovered  {}, {} bytes", counted(report.records, "record"), report.bytes.get());
        let _ = writeln!(text, "delivered  {} before", counted(report.delivered, "record"));
        let _ = writeln!(text, "dropped    {} by the buffer's policy", counted(report.dropped, "record"));
        for damage in &report.damage {
            let _ = writeln!(text, "damaged    chunk {}, {} bytes", damage.chunk, damage.lost.get());
        }
        let lost = match lost {
            0 if report.damage.is_empty() => "nothing".to_owned(),
            0 => "what was in the damaged chunks; how much is unknown".to_owned(),
            bytes => format!("{bytes} bytes"),
        };
        let _ = write!(text, "lost       {lost}");
        print(text)?;
    }
    Ok(if report.damage.is_empty() { Exit::Done } else { Exit::Incomplete })
}

fn refusal(file: &Path, error: &RecoverError) -> Failure {
    if let Some(found) =
        Artifact::at(file).filter(|_| matches!(error, RecoverError::NotABuffer | RecoverError::Read { .. }))
    {
        let message = format!("{} is not the file of a buffer", file.display());
        return Failure::wrong_use(message).with_hint(found.hint());
    }
    match error {
        RecoverError::Read { .. } => Failure::wrong_use(error),
        other => Failure::wrong_use(format!("{}: {other}", file.display())),
    }
}
