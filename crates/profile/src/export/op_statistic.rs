use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use super::ExportError;
use super::csv::CsvWriter;
use super::labels::LabelTable;
use crate::Recording;
use crate::account::spread::Spread;
use crate::recording::Item;

/// The vendor's columns, then opscope's own.
const COLUMNS: &[&str] = &[
    "Device_id",
    "Model Name",
    "OP Type",
    "Core Type",
    "Count",
    "Total Time(us)",
    "Min Time(us)",
    "Avg Time(us)",
    "Max Time(us)",
    "Ratio(%)",
    "Kernel Ops",
];

#[derive(Default)]
struct TypeTimes {
    micros: Spread,
    kernel_ops: BTreeSet<String>,
}

/// Writes a row per operator type, by time. Runs that do not count are left out.
pub(super) fn write(recording: &Recording, into: &mut dyn Write) -> Result<(), ExportError> {
    let mut types: BTreeMap<String, TypeTimes> = BTreeMap::new();
    let mut labels = LabelTable::new(recording.names());
    for item in recording.groups()? {
        let Item::Run(group) = item? else { continue };
        if !recording.counts(&group) {
            continue;
        }
        for dispatch in &group.dispatches {
            let label = labels.get(dispatch.plan, dispatch.kernel);
            let times = match types.get_mut(&label.op_type) {
                Some(times) => times,
                None => types.entry(label.op_type.clone()).or_default(),
            };
            let (start, end) = recording.nanos_since_boot(dispatch.span);
            times.micros.add((end - start) as f64 / 1000.0);
            if !times.kernel_ops.contains(&label.engine_op) {
                times.kernel_ops.insert(label.engine_op.clone());
            }
        }
    }
    let all: f64 = types.values().map(|times| times.micros.total).sum();
    let mut rows: Vec<_> = types.into_iter().collect();
    rows.sort_by(|a, b| b.1.micros.total.total_cmp(&a.1.micros.total));
    let model = super::labels::model_name(recording);
    let mut table = CsvWriter::new(into, COLUMNS)?;
    for (op_type, times) in rows {
        let micros = times.micros;
        for cell in [
            "0",
            &model,
            &op_type,
            "CPU",
            &micros.count.to_string(),
            &format!("{:.3}", micros.total),
            &format!("{:.3}", micros.min),
            &format!("{:.3}", micros.mean()),
            &format!("{:.3}", micros.max),
            &format!("{:.3}", if all > 0.0 { 100.0 * micros.total / all } else { 0.0 }),
            &times.kernel_ops.into_iter().collect::<Vec<_>>().join(";"),
        ] {
            table.cell(cell)?;
        }
        table.end_row()?;
    }
    table.finish()?;
    Ok(())
}
