use std::borrow::Cow;
use std::io::Write;

use opscope_text::cell_text;
use serde::Serialize;

use super::chrome::micros;
use super::csv::{MISSING, Table, foreign};
use super::labels::{LabelTable, path_text};
use super::{Excerpt, ExportError};
use crate::Recording;
use crate::recording::{DispatchFact, Item, RunGroup, RunKind};

/// The vendor's columns, then opscope's own.
#[derive(Default, Serialize)]
struct Row<'a> {
    #[serde(rename = "Device_id")]
    device: u32,
    #[serde(rename = "Model ID")]
    plan: String,
    #[serde(rename = "Task ID")]
    kernel: String,
    #[serde(rename = "Stream ID")]
    thread: String,
    #[serde(rename = "Op Name", serialize_with = "foreign")]
    operator: &'a str,
    #[serde(rename = "OP Type", serialize_with = "foreign")]
    op_type: &'a str,
    #[serde(rename = "OP State")]
    state: &'a str,
    #[serde(rename = "Task Type")]
    task_type: &'a str,
    #[serde(rename = "Task Start Time(us)")]
    start: String,
    #[serde(rename = "Task Duration(us)")]
    duration: String,
    #[serde(rename = "Task Wait Time(us)")]
    wait: Cow<'a, str>,
    #[serde(rename = "Block Num")]
    blocks: &'a str,
    #[serde(rename = "HF32 Eligible")]
    hf32: &'a str,
    #[serde(rename = "Input Shapes", serialize_with = "foreign")]
    input_shapes: &'a str,
    #[serde(rename = "Input Data Types", serialize_with = "foreign")]
    input_types: &'a str,
    #[serde(rename = "Input Formats")]
    input_formats: &'a str,
    #[serde(rename = "Output Shapes", serialize_with = "foreign")]
    output_shapes: &'a str,
    #[serde(rename = "Output Data Types", serialize_with = "foreign")]
    output_types: &'a str,
    #[serde(rename = "Output Formats")]
    output_formats: &'a str,
    #[serde(rename = "Run")]
    run: String,
    #[serde(rename = "Warm Up")]
    warm_up: &'a str,
    #[serde(rename = "Kernel", serialize_with = "foreign")]
    engine_name: &'a str,
    #[serde(rename = "Kernel Op", serialize_with = "foreign")]
    engine_op: &'a str,
    #[serde(rename = "Fused Ops", serialize_with = "foreign")]
    fused: Cow<'a, str>,
    #[serde(rename = "Attribution")]
    attribution: &'a str,
    /// The column exists only if a dispatch of the recording has a path.
    #[serde(rename = "Path", skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

/// Writes a row per dispatch of the shown runs, in the order of the runs' ends. Start times are microseconds since 1970
/// and end with a tab, so that a spreadsheet does not round them.
pub(super) fn write(excerpt: &Excerpt<'_>, into: &mut dyn Write) -> Result<(), ExportError> {
    let recording = excerpt.recording();
    let columns = Row { path: recording.has_paths().then(String::new), ..Row::default() };
    let mut table = Table::new(into, columns)?;
    let mut labels = LabelTable::new(recording.names());
    for item in excerpt.items()? {
        if let Item::Run(group) = item? {
            write_run(recording, &group, &mut labels, &mut table)?;
        }
    }
    table.finish()
}

fn write_run<W: Write>(
    recording: &Recording,
    group: &RunGroup,
    labels: &mut LabelTable<'_>,
    table: &mut Table<W>,
) -> Result<(), ExportError> {
    let mut idle_since = group.record.map(|run| recording.nanos_since_boot(run.span).0);
    let warm_up = group.record.map_or(MISSING, |run| if run.kind == RunKind::WarmUp { "yes" } else { "no" });
    for dispatch in &group.dispatches {
        let label = labels.get(dispatch.plan, dispatch.kernel);
        let (start, end) = recording.nanos_since_boot(dispatch.span);
        let wait = idle_since.map(|since| micros(start.saturating_sub(since)));
        idle_since = Some(end.max(idle_since.unwrap_or(0)));
        let fused = Some(label.fused.join(";")).filter(|names| !names.is_empty());
        table.row(Row {
            device: 0,
            plan: dispatch.plan.to_string(),
            kernel: dispatch.kernel.to_string(),
            thread: dispatch.thread.to_string(),
            operator: &label.operator,
            op_type: &label.op_type,
            state: MISSING,
            task_type: "CPU",
            start: format!("{}\t", micros(recording.nanos_since_1970(start))),
            duration: micros(end - start),
            wait: wait.map_or(MISSING.into(), Cow::Owned),
            blocks: MISSING,
            hf32: MISSING,
            input_shapes: label.input_shapes.as_deref().unwrap_or(MISSING),
            input_types: label.input_types.as_deref().unwrap_or(MISSING),
            input_formats: MISSING,
            output_shapes: label.output_shapes.as_deref().unwrap_or(MISSING),
            output_types: label.output_types.as_deref().unwrap_or(MISSING),
            output_formats: MISSING,
            run: dispatch.run.to_string(),
            warm_up,
            engine_name: &label.engine_name,
            engine_op: &label.engine_op,
            fused: fused.map_or(MISSING.into(), Cow::Owned),
            attribution: label.attribution,
            path: recording.has_paths().then(|| path(recording, dispatch)),
        })?;
    }
    Ok(())
}

fn path(recording: &Recording, dispatch: &DispatchFact) -> String {
    if dispatch.path.is_empty() { MISSING.to_owned() } else { cell_text(&path_text(recording, dispatch)).into_owned() }
}
