use std::collections::BTreeMap;
use std::io::Write;

use super::ExportError;
use super::csv::CsvWriter;
use crate::Recording;
use crate::account::spread::Spread;
use crate::recording::Fact;

const COLUMNS: &[&str] =
    &["Device_id", "Level", "API Name", "Time(us)", "Count", "Avg(us)", "Min(us)", "Max(us)", "Variance"];

/// Writes a row per call of the engine and per direction of copies. Warm-up runs count, because a call is a call.
pub(super) fn write(recording: &Recording, into: &mut dyn Write) -> Result<(), ExportError> {
    let mut calls: BTreeMap<(&str, &str), Spread> = BTreeMap::new();
    for fact in recording.facts()? {
        let (level, name, span) = match fact? {
            Fact::Call(call) => ("engine", call.call.name(), call.span),
            Fact::Copy(copy) => ("memory", copy.direction.name(), copy.span),
            _ => continue,
        };
        let (start, end) = recording.nanos_since_boot(span);
        calls.entry((level, name)).or_default().add((end - start) as f64 / 1000.0);
    }
    let mut rows: Vec<_> = calls.into_iter().collect();
    rows.sort_by(|a, b| a.0.0.cmp(b.0.0).then(b.1.total.total_cmp(&a.1.total)));
    let mut table = CsvWriter::new(into, COLUMNS)?;
    for ((level, name), micros) in rows {
        for cell in [
            "0",
            level,
            name,
            &format!("{:.3}", micros.total),
            &micros.count.to_string(),
            &format!("{:.3}", micros.mean()),
            &format!("{:.3}", micros.min),
            &format!("{:.3}", micros.max),
            &format!("{:.3}", micros.variance()),
        ] {
            table.cell(cell)?;
        }
        table.end_row()?;
    }
    table.finish()?;
    Ok(())
}
