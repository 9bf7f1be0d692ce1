use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use serde::Serialize;

use super::csv::{Table, foreign, thousandths};
use super::labels::LabelTable;
use super::{Excerpt, ExportError};
use crate::account::spread::Spread;
use crate::recording::{Item, own_times};

/// The vendor's columns, then opscope's own.
#[derive(Default, Serialize)]
struct Row<'a> {
    #[serde(rename = "Device_id")]
    device: u32,
    #[serde(rename = "Model Name", serialize_with = "foreign")]
    model: &'a str,
    #[serde(rename = "OP Type", serialize_with = "foreign")]
    op_type: &'a str,
    #[serde(rename = "Core Type")]
    core_type: &'a str,
    #[serde(rename = "Count")]
    count: u64,
    #[serde(rename = "Total Time(us)", serialize_with = "thousandths")]
    total: f64,
    #[serde(rename = "Min Time(us)", serialize_with = "thousandths")]
    min: f64,
    #[serde(rename = "Avg Time(us)", serialize_with = "thousandths")]
    mean: f64,
    #[serde(rename = "Max Time(us)", serialize_with = "thousandths")]
    max: f64,
    #[serde(rename = "Ratio(%)", serialize_with = "thousandths")]
    percent: f64,
    #[serde(rename = "Kernel Ops", serialize_with = "foreign")]
    kernel_ops: String,
    #[serde(rename = "Added By Engine")]
    added: &'a str,
}

#[derive(Default)]
struct TypeTimes {
    micros: Spread,
    kernel_ops: BTreeSet<String>,
}

/// Writes a row per operator type, sorted by time. Runs that do not count are excluded.
pub(super) fn write(excerpt: &Excerpt<'_>, into: &mut dyn Write) -> Result<(), ExportError> {
    let recording = excerpt.recording();
    // Kernels that the engine added do not belong to a type of the file, even if they have its name.
    let (mut of_file, mut of_engine) = (BTreeMap::<String, TypeTimes>::new(), BTreeMap::new());
    let mut labels = LabelTable::new(recording.names());
    for item in recording.groups()? {
        let Item::Run(group) = item? else { continue };
        if !recording.counts(&group) {
            continue;
        }
        let nanos = own_times(&group.dispatches, |span| {
            let (start, end) = recording.nanos_since_boot(span);
            (end - start) as f64
        });
        for (dispatch, nanos) in group.dispatches.iter().zip(nanos) {
            let label = labels.get(dispatch.plan, dispatch.kernel);
            let types = if label.is_added() { &mut of_engine } else { &mut of_file };
            let times = match types.get_mut(&label.op_type) {
                Some(times) => times,
                None => types.entry(label.op_type.clone()).or_default(),
            };
            times.micros.add(nanos / 1000.0);
            if !times.kernel_ops.contains(&label.engine_op) {
                times.kernel_ops.insert(label.engine_op.clone());
            }
        }
    }
    let of_file = of_file.into_iter().map(|(op_type, times)| (op_type, "no", times));
    let of_engine = of_engine.into_iter().map(|(op_type, times)| (op_type, "yes", times));
    let mut rows: Vec<_> = of_file.chain(of_engine).collect();
    let all: f64 = rows.iter().map(|(.., times)| times.micros.total).sum();
    rows.sort_by(|a, b| b.2.micros.total.total_cmp(&a.2.micros.total));
    let model = super::labels::model_name(recording);
    let mut table = Table::new(into, Row::default())?;
    for (op_type, added, times) in &rows {
        let micros = times.micros;
        table.row(Row {
            device: 0,
            model: &model,
            op_type,
            core_type: "CPU",
            count: micros.count,
            total: micros.total,
            min: micros.min,
            mean: micros.mean(),
            max: micros.max,
            percent: if all > 0.0 { 100.0 * micros.total / all } else { 0.0 },
            kernel_ops: times.kernel_ops.iter().cloned().collect::<Vec<_>>().join(";"),
            added,
        })?;
    }
    table.finish()
}
