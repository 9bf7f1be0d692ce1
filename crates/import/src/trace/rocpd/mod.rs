//! rocprofv3's database (rocpd). The names of its tables end in the identifier of the run, and a file that was merged
//! has the tables of several runs. Schema 3 and the one before it are read: the earlier one keeps times and tracks in
//! tables of their own.

mod events;
mod run;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::assemble::Assembler;
use super::sqlite::Database;
use crate::ImportError;
use run::{Machine, Run};

/// The tables that are known. Every other table whose name begins with `rocpd_` has events that are not read, if it
/// has times.
const KNOWN: [&str; 18] = [
    "rocpd_arg",
    "rocpd_event",
    "rocpd_info_agent",
    "rocpd_info_code_object",
    "rocpd_info_kernel_symbol",
    "rocpd_info_node",
    "rocpd_info_pmc",
    "rocpd_info_process",
    "rocpd_info_queue",
    "rocpd_info_stream",
    "rocpd_info_thread",
    "rocpd_kernel_dispatch",
    "rocpd_memory_allocate",
    "rocpd_memory_copy",
    "rocpd_pmc_event",
    "rocpd_region",
    "rocpd_sample",
    "rocpd_string",
];
/// Tables that only the schema before 3 has, or that say something about the file.
const BESIDE: [&str; 3] = ["rocpd_metadata", "rocpd_timestamp", "rocpd_track"];

/// The kind under which rows are counted that are not imported.
const UNREAD: &str = "rocpd event";

/// Returns whether the name of a table is one of rocpd's.
pub(super) fn is_table(name: &str) -> bool {
    split(name).is_some_and(|(base, _)| base == "rocpd_kernel_dispatch" || base == "rocpd_region")
}

/// Reads a database.
pub(crate) fn read(path: &Path, into: &mut Assembler) -> Result<(), ImportError> {
    let database = Database::open(path, Arc::clone(into.cancel()))?;
    database.note_write_ahead_log(into);
    "rocprofv3".clone_into(&mut into.about.producer);
    let mut runs: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    for name in database.tables().keys() {
        match split(name) {
            Some((base, run)) => {
                runs.entry(run).or_default().insert(base, name);
            }
            None if name.starts_with("rocpd_") => database.count_unread(UNREAD, name, into)?,
            None => {}
        }
    }
    if runs.len() > 1 {
        into.about.notes.push(format!("The file has the tables of {} runs of rocprofv3.", runs.len()));
    }
    let mut machine = Machine::default();
    for tables in runs.into_values() {
        let mut run = Run::read(&database, tables, &mut machine, into)?;
        run.regions(into)?;
        run.kernels(into)?;
        run.copies(into)?;
        run.samples(into)?;
        run.counters(into)?;
        if let Some(table) = run.table("rocpd_memory_allocate") {
            database.count_unread(UNREAD, table, into)?;
        }
    }
    Ok(())
}

/// Splits the name of a table into its kind and the identifier of its run, which is empty if it has none.
fn split(name: &str) -> Option<(&'static str, &str)> {
    KNOWN.into_iter().chain(BESIDE).find_map(|base| {
        let run = name.strip_prefix(base)?;
        let is_identifier = run.is_empty()
            || run.strip_prefix('_').is_some_and(|run| {
                run.bytes().any(|byte| byte.is_ascii_digit())
                    && run.bytes().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b'_' | b'-'))
            });
        is_identifier.then_some((base, run))
    })
}
