//! What is added to a program before it is watched.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use opscope::consumers::{self, OpenConsumers};
use pyo3::prelude::*;

use super::sinks::{AclDump, AclText, ProgramDump, Wanted};
use super::{State, TorchTap};
use crate::failure::{Failure, input};

/// Adds a dump into a directory: of what an `acl.json` says, or else of what patterns name, or of only the statistics
/// of that. Returns notes for the user.
pub fn dump(
    tap: &TorchTap,
    directory: &Path,
    (statistics, select): (bool, &[String]),
    compiled: String,
    acl_json: Option<&AclText>,
) -> PyResult<Vec<String>> {
    if acl_json.is_some() && !tap.looks_at_operators {
        return Err(input("an acl.json dumps operators, so the level must be op"));
    }
    let wanted = match acl_json {
        Some(text) => Wanted::Acl(AclDump::read(text)?),
        None => Wanted::named(select, statistics)?,
    };
    let mut state = tap.lock();
    let State { program, version, watch, .. } = &mut *state;
    let (dump, notes) = ProgramDump::create(program, directory, version, wanted, compiled)?;
    if dump.is_of_statistics() && watch.is_none() {
        program.set_summarises();
    }
    tap.looks_before.store(dump.takes_inputs, Ordering::Relaxed);
    state.dump = Some(dump);
    Ok(notes)
}

/// Adds the consumers that are found, which may run these tools.
pub fn consume(tap: &TorchTap, tools: Vec<PathBuf>) -> PyResult<()> {
    let report = consumers::attach_with_tools(c"opscope", tools);
    let refused = report.tools.iter().filter_map(|tool| Some((&tool.path, tool.taken_by.as_ref().err()?)));
    let refused: Vec<String> = refused.map(|(path, why)| format!("the tool {}: {why}", path.display())).collect();
    if !refused.is_empty() {
        return Err(input(refused.join("; ")));
    }
    if !report.attached.is_empty() {
        let mut state = tap.lock();
        let consumers = Arc::new(OpenConsumers::new("torch", &state.version));
        state.program.add(consumers).map_err(Failure::any)?;
    }
    Ok(())
}
