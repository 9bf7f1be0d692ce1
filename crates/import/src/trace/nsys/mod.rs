//! The SQLite export of Nsight Systems (`nsys export --type sqlite`). Its columns differ between versions, so what is
//! there is read. The schema is described in NVIDIA's user guide.

mod device;
mod host;
mod ids;
mod ranges;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use super::assemble::Assembler;
use super::sqlite::{Columns, Database, Row};
use crate::ImportError;
use ids::Ids;

/// The tables of which at least one is in every export.
pub(super) const TABLES: [&str; 4] =
    ["CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "TARGET_INFO_SESSION_START_TIME"];

/// The kind under which rows are counted that are not imported.
const UNREAD: &str = "Nsight Systems event";

/// Reads an export.
pub(crate) fn read(path: &Path, into: &mut Assembler) -> Result<(), ImportError> {
    let database = Database::open(path, Arc::clone(into.cancel()))?;
    database.note_write_ahead_log(into);
    let mut export = Export { ids: Ids::new(&database), database: &database, last: 0, read: Vec::new() };
    export.about(into)?;
    export.device(into)?;
    export.host(into)?;
    // Last, because ranges that were open at the end of the recording end with its last event.
    export.ranges(into)?;
    export.count_unread(into)
}

/// An export that is being read.
struct Export<'a> {
    database: &'a Database,
    ids: Ids<'a>,
    /// The latest end of an event so far.
    last: u64,
    /// The tables that were read.
    read: Vec<&'static str>,
}

impl Export<'_> {
    fn about(&mut self, into: &mut Assembler) -> Result<(), ImportError> {
        "Nsight Systems".clone_into(&mut into.about.producer);
        let (mut version, mut schema) = (None, None);
        for table in ["META_DATA_EXPORT", "META_DATA_CAPTURE"] {
            let columns = Columns { table, needed: &["name", "value"], optional: &[] };
            self.database.rows(&columns, into, |row, into| {
                let (Some(name), Some(value)) = (row.text(0), row.text(1)) else { return Ok(()) };
                match &*name {
                    "EXPORT_SCHEMA_VERSION" => schema = Some(value.into_owned()),
                    "EXPORT_PRODUCT_VERSION" | "PRODUCT_VERSION" | "NSYS_VERSION" if version.is_none() => {
                        version = Some(value.into_owned());
                    }
                    "HOSTNAME" | "SYSTEM_HOSTNAME" => into.about.host = value.into_owned(),
                    _ => {}
                }
                Ok(())
            })?;
        }
        into.about.version = version.or(schema.map(|schema| format!("schema {schema}"))).unwrap_or_default();
        let columns = Columns { table: "TARGET_INFO_SYSTEM_ENV", needed: &["name", "value"], optional: &[] };
        self.database.rows(&columns, into, |row, into| {
            match (row.text(0).as_deref(), row.text(1)) {
                (Some("Hostname"), Some(value)) => into.about.host = value.into_owned(),
                (Some("CPU description" | "CPU Description"), Some(value)) => into.about.cpu = value.into_owned(),
                _ => {}
            }
            Ok(())
        })?;
        let columns = Columns { table: "TARGET_INFO_SESSION_START_TIME", needed: &["utcEpochNs"], optional: &[] };
        self.database.rows(&columns, into, |row, into| {
            into.about.zero_unix_ns = row.int(0).and_then(|zero| u64::try_from(zero).ok());
            Ok(())
        })?;
        self.ids.read_devices(into)?;
        self.ids.read_processes(into)
    }

    /// Reads a table of events: those with a begin and an end. What has none, or ends before it begins, is counted.
    fn spans(
        &mut self,
        table: &'static str,
        optional: &[&str],
        into: &mut Assembler,
        mut take: impl FnMut(&mut Ids<'_>, Span<'_>, &mut Assembler) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        self.read.push(table);
        let columns = Columns { table, needed: &["start", "end"], optional };
        let (ids, last) = (&mut self.ids, &mut self.last);
        self.database.rows(&columns, into, |row, into| {
            let Some((start, duration)) = row.span(0, 1) else {
                into.not_imported("event without a begin and an end in order", table);
                return Ok(());
            };
            *last = (*last).max(start + duration);
            take(ids, Span { row, start, duration }, into)
        })
    }

    /// Counts the events of every table that was not read. Tables without times have no events.
    fn count_unread(&self, into: &mut Assembler) -> Result<(), ImportError> {
        for (table, columns) in self.database.tables() {
            let has_times = ["start", "timestamp", "rawTimestamp"].iter().any(|column| columns.contains(*column));
            if has_times && !self.read.contains(&table.as_str()) {
                self.database.count_unread(UNREAD, table, into)?;
            }
        }
        Ok(())
    }
}

/// A row with its times. Its optional columns are counted from 0.
struct Span<'a> {
    row: &'a Row<'a>,
    start: u64,
    duration: u64,
}

impl Span<'_> {
    fn int(&self, column: usize) -> Option<i64> {
        self.row.int(column + 2)
    }

    /// Returns a number that is not negative, or 0.
    fn count(&self, column: usize) -> u64 {
        self.int(column).and_then(|value| u64::try_from(value).ok()).unwrap_or(0)
    }
}
