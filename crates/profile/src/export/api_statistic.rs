use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;

use super::csv::{Table, thousandths};
use super::{Excerpt, ExportError};
use crate::account::spread::Spread;
use crate::recording::Fact;

/// The vendor's columns.
#[derive(Default, Serialize)]
struct Row {
    #[serde(rename = "Device_id")]
    device: u32,
    #[serde(rename = "Level")]
    level: &'static str,
    #[serde(rename = "API Name")]
    name: &'static str,
    #[serde(rename = "Time(us)", serialize_with = "thousandths")]
    total: f64,
    #[serde(rename = "Count")]
    count: u64,
    #[serde(rename = "Avg(us)", serialize_with = "thousandths")]
    mean: f64,
    #[serde(rename = "Min(us)", serialize_with = "thousandths")]
    min: f64,
    #[serde(rename = "Max(us)", serialize_with = "thousandths")]
    max: f64,
    #[serde(rename = "Variance", serialize_with = "thousandths")]
    variance: f64,
}

/// Writes a row per kind of call of the engine and per direction of copies. Warm-up runs count, too.
pub(super) fn write(excerpt: &Excerpt<'_>, into: &mut dyn Write) -> Result<(), ExportError> {
    let recording = excerpt.recording();
    let mut calls: BTreeMap<(&'static str, &'static str), Spread> = BTreeMap::new();
    for fact in recording.facts()? {
        let (level, name, span) = match fact? {
            Fact::Call(call) => ("engine", call.call.name(), call.span),
            Fact::Copy(copy) => ("memory", copy.direction.name(), copy.span),
            // The table contains only calls and copies.
            _ => continue,
        };
        let (start, end) = recording.nanos_since_boot(span);
        calls.entry((level, name)).or_default().add((end - start) as f64 / 1000.0);
    }
    let mut rows: Vec<_> = calls.into_iter().collect();
    rows.sort_by(|a, b| a.0.0.cmp(b.0.0).then(b.1.total.total_cmp(&a.1.total)));
    let mut table = Table::new(into, Row::default())?;
    for ((level, name), micros) in rows {
        table.row(Row {
            device: 0,
            level,
            name,
            total: micros.total,
            count: micros.count,
            mean: micros.mean(),
            min: micros.min,
            max: micros.max,
            variance: micros.variance(),
        })?;
    }
    table.finish()
}
