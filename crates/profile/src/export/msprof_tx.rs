use std::io::Write;

use opscope_trace::MarkerOperation;
use serde::Serialize;

use super::chrome::micros;
use super::csv::{MISSING, Table, foreign};
use super::{Excerpt, ExportError};
use crate::recording::Fact;

/// The vendor's columns.
#[derive(Default, Serialize)]
struct Row<'a> {
    pid: u32,
    tid: String,
    category: &'a str,
    event_type: &'a str,
    payload_type: &'a str,
    payload_value: &'a str,
    #[serde(rename = "Start_time(us)")]
    start: String,
    #[serde(rename = "End_time(us)")]
    end: String,
    message_type: &'a str,
    #[serde(serialize_with = "foreign")]
    message: &'a str,
    domain: &'a str,
    #[serde(rename = "Device Start_time(us)")]
    device_start: &'a str,
    #[serde(rename = "Device End_time(us)")]
    device_end: &'a str,
}

/// Writes a row per range and per moment that the user's code marked. Those of each thread are in the order in which
/// they ended. Times are microseconds since 1970 and end with a tab, so that a spreadsheet does not round them.
pub(super) fn write(excerpt: &Excerpt<'_>, into: &mut dyn Write) -> Result<(), ExportError> {
    let recording = excerpt.recording();
    let mut table = Table::new(into, Row::default())?;
    for fact in recording.facts()? {
        let Fact::Marker(marker) = fact? else { continue };
        let (start, end) = recording.nanos_since_boot(marker.span);
        let time = |nanos| format!("{}\t", micros(recording.nanos_since_1970(nanos)));
        let message = recording.marker_name(marker.name);
        table.row(Row {
            pid: recording.manifest().process.pid,
            tid: marker.thread.to_string(),
            category: MISSING,
            event_type: match marker.operation {
                MarkerOperation::Mark => "mark",
                MarkerOperation::Range | MarkerOperation::OpenRange => "range",
            },
            payload_type: MISSING,
            payload_value: MISSING,
            start: time(start),
            end: time(end),
            message_type: MISSING,
            message: &message,
            domain: MISSING,
            device_start: MISSING,
            device_end: MISSING,
        })?;
    }
    table.finish()
}
