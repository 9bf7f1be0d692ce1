use std::io::Write;

use super::ExportError;
use super::chrome::micros;
use super::csv::{CsvWriter, MISSING};
use super::labels::LabelTable;
use crate::Recording;
use crate::recording::{Item, RunGroup};

/// The vendor's columns, then opscope's own.
const COLUMNS: &[&str] = &[
    "Device_id",
    "Model ID",
    "Task ID",
    "Stream ID",
    "Op Name",
    "OP Type",
    "OP State",
    "Task Type",
    "Task Start Time(us)",
    "Task Duration(us)",
    "Task Wait Time(us)",
    "Block Num",
    "HF32 Eligible",
    "Input Shapes",
    "Input Data Types",
    "Input Formats",
    "Output Shapes",
    "Output Data Types",
    "Output Formats",
    "Run",
    "Warm Up",
    "Kernel",
    "Kernel Op",
    "Fused Ops",
    "Attribution",
];

/// Writes a row per dispatch, in the order in which runs ended. Start times are microseconds since 1970 and end with a
/// tab, so that a spreadsheet does not round them.
pub(super) fn write(recording: &Recording, into: &mut dyn Write) -> Result<(), ExportError> {
    let mut table = CsvWriter::new(into, COLUMNS)?;
    let mut labels = LabelTable::new(recording.names());
    for item in recording.groups()? {
        if let Item::Run(group) = item? {
            write_run(recording, &group, &mut labels, &mut table)?;
        }
    }
    table.finish()?;
    Ok(())
}

fn write_run<W: Write>(
    recording: &Recording,
    group: &RunGroup,
    labels: &mut LabelTable<'_>,
    table: &mut CsvWriter<W>,
) -> Result<(), ExportError> {
    let clock = &recording.manifest().clock;
    let mut idle_since = group.record.map(|run| recording.nanos_since_boot(run.span).0);
    let warm_up = group.record.map_or(MISSING, |run| if run.warm_up { "yes" } else { "no" });
    for dispatch in &group.dispatches {
        let label = labels.get(dispatch.plan, dispatch.kernel);
        let (start, end) = recording.nanos_since_boot(dispatch.span);
        let unix = (clock.start_unix_ns + start).saturating_sub(clock.start.boottime_ns);
        let wait = idle_since.map_or(MISSING.to_owned(), |since| micros(start.saturating_sub(since)));
        idle_since = Some(end.max(idle_since.unwrap_or(0)));
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| MISSING.to_owned());
        let fused = if label.fused.is_empty() { MISSING.to_owned() } else { label.fused.join(";") };
        for cell in [
            "0",
            &dispatch.plan.to_string(),
            &dispatch.kernel.to_string(),
            &dispatch.thread.to_string(),
            &label.operator,
            &label.op_type,
            MISSING,
            "CPU",
            &format!("{}\t", micros(unix)),
            &micros(end - start),
            &wait,
            MISSING,
            MISSING,
            &known(&label.input_shapes),
            &known(&label.input_types),
            MISSING,
            &known(&label.output_shapes),
            &known(&label.output_types),
            MISSING,
            &dispatch.run.to_string(),
            warm_up,
            &label.engine_name,
            &label.engine_op,
            &fused,
            if label.exact { "exact" } else { "inferred" },
        ] {
            table.cell(cell)?;
        }
        table.end_row()?;
    }
    Ok(())
}
