use std::path::Path;

use opscope::dump::StoredDump;

use super::{ExportArguments, directory, tell};
use crate::exit::{Exit, Failure};
use crate::terminal::Messages;

/// Writes the statistics of a dump's tensors as a table.
pub(super) fn export_dump(arguments: &ExportArguments, source: &Path, messages: Messages) -> Result<Exit, Failure> {
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
