//! The tables of a recording, written in one pass over its records.

use std::io::Write;

use opscope_profile::{Fact, Item, Manifest, MarkerFact, Recording, RunFact, RunGroup, RunKind};
use opscope_trace::MarkerOperation;
use parquet::errors::Result as Written;
use xxhash_rust::xxh3::Xxh3;

use crate::TablesError;
use crate::kernels::Kernels;
use crate::rows::dispatches::{Dispatch, Operator};
use crate::rows::marks::{Counter, Mark};
use crate::rows::runs::{RecordingRow, Run};
use crate::table::{Numbered, Row, Table};

/// The names of the tables of a recording.
pub(crate) const TABLES: [&str; 6] =
    [RecordingRow::TABLE, Run::TABLE, Dispatch::TABLE, Operator::TABLE, Counter::TABLE, Mark::TABLE];

/// The tables of a recording. Those that are not requested are `None`.
pub(crate) struct RecordingTables<W: Write + Send> {
    recordings: Option<Table<W>>,
    runs: Option<Table<W>>,
    dispatches: Option<Table<W>>,
    operators: Option<Table<W>>,
    counters: Option<Table<W>>,
    marks: Option<Table<W>>,
}

/// A finished table: its name, its number of rows, and its file.
pub(crate) struct Finished<W> {
    pub name: &'static str,
    pub rows: u64,
    pub into: W,
}

impl<W: Write + Send> RecordingTables<W> {
    /// Begins the tables for which `open` returns a file.
    pub(crate) fn begin(
        recording: &Recording,
        mut open: impl FnMut(&'static str) -> Result<Option<W>, TablesError>,
    ) -> Result<Self, TablesError> {
        let id = recording_id(recording.manifest());
        let notes = [("opscope.recording", id.as_str())];
        Ok(Self {
            recordings: begin::<RecordingRow<'_>, W>(&mut open, &notes)?,
            runs: begin::<Run<'_>, W>(&mut open, &notes)?,
            dispatches: begin::<Dispatch<'_>, W>(&mut open, &notes)?,
            operators: begin::<Operator<'_>, W>(&mut open, &notes)?,
            counters: begin::<Counter<'_>, W>(&mut open, &notes)?,
            marks: begin::<Mark<'_>, W>(&mut open, &notes)?,
        })
    }

    /// Writes the rows of a recording.
    pub(crate) fn write(&mut self, recording: &Recording) -> Result<(), TablesError> {
        let id = recording_id(recording.manifest());
        let model = recording.model_name();
        let mut kernels = Kernels::new(recording);
        push(&mut self.recordings, || RecordingRow { id: &id, model: &model, recording })?;
        for item in recording.groups()? {
            match item? {
                Item::Run(group) => self.run(recording, &id, &group, &mut kernels)?,
                Item::Other(Fact::Sample(sample)) => {
                    let (counter, unit) = recording.counter_title(sample.counter);
                    let time = recording.calibration().timestamp(sample.at).as_nanos();
                    push(&mut self.counters, || Counter {
                        recording: Numbered(0, &id),
                        time: recording.nanos_since_1970(time),
                        counter: &counter,
                        unit: Some(unit).filter(|unit| !unit.is_empty()),
                        value: sample.value,
                    })?;
                }
                Item::Other(Fact::Marker(marker)) => self.mark(recording, &id, &marker)?,
                // `docs/tables.md` says which facts have tables.
                Item::Other(_) => {}
            }
        }
        for kernel in kernels.all() {
            let labels = &kernel.labels;
            let fused = labels.fused.join(";");
            let notes = labels.origin.as_ref().map(|origin| origin.notes());
            let [module, class, source] = notes.unwrap_or_default().map(|(_, text)| text);
            push(&mut self.operators, || Operator {
                recording: Numbered(0, &id),
                plan: kernel.plan,
                kernel: kernel.kernel,
                operator: &labels.operator,
                op_type: &labels.op_type,
                attribution: labels.attribution,
                engine_name: &labels.engine_name,
                engine_op: &labels.engine_op,
                fused: (!labels.fused.is_empty()).then_some(&fused),
                input_shapes: labels.input_shapes.as_deref(),
                input_types: labels.input_types.as_deref(),
                output_shapes: labels.output_shapes.as_deref(),
                output_types: labels.output_types.as_deref(),
                times: kernel.times,
                module: module.as_deref(),
                class: class.as_deref(),
                source: source.as_deref(),
            })?;
        }
        Ok(())
    }

    /// Finishes every table.
    pub(crate) fn finish(self) -> Result<Vec<Finished<W>>, TablesError> {
        let tables = [self.recordings, self.runs, self.dispatches, self.operators, self.counters, self.marks];
        let named = TABLES.into_iter().zip(tables).filter_map(|(name, table)| Some((name, table?)));
        named
            .map(|(name, table)| {
                let rows = table.rows();
                Ok(Finished { name, rows, into: table.finish()? })
            })
            .collect()
    }

    fn run(
        &mut self,
        recording: &Recording,
        id: &str,
        group: &RunGroup,
        kernels: &mut Kernels<'_>,
    ) -> Result<(), TablesError> {
        let measured = recording.counts(group);
        let mut idle_since = None;
        if let Some(run) = &group.record {
            idle_since = Some(recording.nanos_since_boot(run.span).0);
            push(&mut self.runs, || run_row(recording, id, run, measured))?;
        }
        for dispatch in &group.dispatches {
            let number = kernels.number(dispatch.plan, dispatch.kernel);
            let kernel = kernels.get(number);
            let (start, end) = recording.nanos_since_boot(dispatch.span);
            if measured {
                kernel.times.add(end - start);
            }
            let wait = idle_since.map(|since: u64| start.saturating_sub(since));
            idle_since = Some(end.max(idle_since.unwrap_or(0)));
            let path = (!dispatch.path.is_empty()).then(|| recording.path_text(dispatch));
            push(&mut self.dispatches, || Dispatch {
                recording: Numbered(0, id),
                run: dispatch.run,
                plan: dispatch.plan,
                kernel: dispatch.kernel,
                thread: dispatch.thread,
                start: recording.nanos_since_1970(start),
                duration: end - start,
                wait,
                operator: Numbered(number, &kernel.labels.operator),
                op_type: Numbered(number, &kernel.labels.op_type),
                path: path.as_deref(),
                measured,
            })?;
        }
        Ok(())
    }

    fn mark(&mut self, recording: &Recording, id: &str, marker: &MarkerFact) -> Result<(), TablesError> {
        let (start, end) = recording.nanos_since_boot(marker.span);
        let name = recording.marker_name(marker.name);
        Ok(push(&mut self.marks, || Mark {
            recording: Numbered(0, id),
            name: &name,
            kind: match marker.operation {
                MarkerOperation::Mark => "mark",
                MarkerOperation::Range => "range",
                MarkerOperation::OpenRange => "open_range",
            },
            thread: marker.thread,
            start: recording.nanos_since_1970(start),
            duration: end - start,
            correlation: marker.correlation.internal.0,
            external: marker.correlation.external.0,
        })?)
    }
}

fn run_row<'a>(recording: &Recording, id: &'a str, run: &RunFact, measured: bool) -> Run<'a> {
    let duration = |span| {
        let (start, end) = recording.nanos_since_boot(span);
        end - start
    };
    Run {
        recording: Numbered(0, id),
        run: run.run,
        plan: run.plan,
        thread: run.thread,
        start: recording.nanos_since_1970(recording.nanos_since_boot(run.span).0),
        duration: duration(run.span),
        upload: run.upload.map(duration),
        download: run.download.map(duration),
        warm_up: run.kind == RunKind::WarmUp,
        failed: run.failed,
        measured,
        correlation: run.correlation.internal.0,
        external: run.correlation.external.0,
    }
}

fn begin<R: Row, W: Write + Send>(
    open: &mut impl FnMut(&'static str) -> Result<Option<W>, TablesError>,
    notes: &[(&str, &str)],
) -> Result<Option<Table<W>>, TablesError> {
    Ok(open(R::TABLE)?.map(|into| Table::new::<R>(into, notes)).transpose()?)
}

/// Adds a row to a table, unless the table is not requested.
fn push<R: Row, W: Write + Send>(table: &mut Option<Table<W>>, row: impl FnOnce() -> R) -> Written<()> {
    table.as_mut().map_or(Ok(()), |table| table.push(&row()))
}

/// Returns the id of a recording: 32 hexadecimal digits. It depends on data that the manifest has from the beginning
/// and that no two recordings share: the host, the process, the beginning to the nanosecond, and the model. It does not
/// change when the directory is moved or the recording is closed.
pub fn recording_id(manifest: &Manifest) -> String {
    let mut hash = Xxh3::new();
    let mut add = |part: &[u8]| {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    add(manifest.host.name.as_bytes());
    add(&manifest.process.pid.to_le_bytes());
    add(manifest.process.name.as_bytes());
    add(&manifest.clock.start_unix_ns.to_le_bytes());
    add(&manifest.clock.start.ticks.to_le_bytes());
    add(&manifest.clock.start.boottime_ns.to_le_bytes());
    add(manifest.model.path.as_bytes());
    add(manifest.model.xxh3.to_string().as_bytes());
    format!("{:032x}", hash.digest128())
}
