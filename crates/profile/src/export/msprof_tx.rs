use std::io::Write;

use super::ExportError;
use super::chrome::micros;
use super::csv::{CsvWriter, MISSING};
use crate::Recording;
use crate::recording::Fact;

/// The vendor's columns.
const COLUMNS: &[&str] = &[
    "pid",
    "tid",
    "category",
    "event_type",
    "payload_type",
    "payload_value",
    "Start_time(us)",
    "End_time(us)",
    "message_type",
    "message",
    "domain",
    "Device Start_time(us)",
    "Device End_time(us)",
];

/// Writes a row per range and per moment that the user's code marked, each thread's in the order in which they ended. Times
/// are microseconds since 1970 and end with a tab, so that a spreadsheet does not round them.
pub(super) fn write(recording: &Recording, into: &mut dyn Write) -> Result<(), ExportError> {
    let pid = recording.manifest().process.pid.to_string();
    let mut table = CsvWriter::new(into, COLUMNS)?;
    for fact in recording.facts()? {
        let Fact::Marker(marker) = fact? else { continue };
        let (start, end) = recording.nanos_since_boot(marker.span);
        let time = |nanos| format!("{}\t", micros(recording.nanos_since_1970(nanos)));
        for cell in [
            pid.as_str(),
            &marker.thread.to_string(),
            MISSING,
            if marker.is_range { "range" } else { "mark" },
            MISSING,
            MISSING,
            &time(start),
            &time(end),
            MISSING,
            &recording.marker_name(marker.name),
            MISSING,
            MISSING,
            MISSING,
        ] {
            table.cell(cell)?;
        }
        table.end_row()?;
    }
    table.finish()?;
    Ok(())
}
