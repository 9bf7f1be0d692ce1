use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use opscope_clock::Ticks;
use opscope_trace::MarkerOperation;
use serde_json::{Map, Value, json};

use super::labels::{LabelTable, correlation_notes, counter_title, path_text, side_title, thread_title};
use super::nesting::Nesting;
use super::{Excerpt, ExportError, ShownRuns};
use crate::Recording;
use crate::account::spread::TensorMemorySums;
use crate::recording::{Appearance, Item, MarkerFact, Note, RunGroup, RunKind, Slice, Span, run_label};

/// The schema of this version.
const SCHEMA: &str = "opscope.timeline/1";

/// The number of a side row consists of the thread's number and, from this bit on, the number of its content. The bit
/// is above every thread number of Linux (2^22).
const SIDE_ROWS: u32 = 24;

/// Writes an array of trace events: times are microseconds since boot with three decimals.
pub(super) fn write(excerpt: &Excerpt<'_>, into: &mut dyn Write) -> Result<(), ExportError> {
    let recording = excerpt.recording();
    let mut events =
        Events { into, pid: recording.manifest().process.pid, recording, rows: BTreeMap::new(), crossing: 0 };
    let mut nesting = Nesting::default();
    let mut labels = LabelTable::new(recording.names());
    let mut notes: HashMap<(u64, u32), String> = HashMap::new();
    let mut memory = TensorMemorySums::default();
    events.begin(excerpt.shown_runs())?;
    for item in excerpt.items()? {
        match item? {
            Item::Run(group) => {
                if let Some(run) = group.record {
                    let name = format!("{} {}", run_label(run.kind), run.run);
                    nesting.place(run.thread, recording.nanos_since_boot(run.span));
                    let row = events.thread(run.thread);
                    let mut args = json!({"run": run.run, "plan": run.plan, "warm_up": run.kind == RunKind::WarmUp, "failed": run.failed});
                    if let Some(reason) = excerpt.reason(run.run) {
                        args["shown_because"] = reason.text().into();
                    }
                    correlation_notes(run.correlation).for_each(|(name, id)| args[name] = id.into());
                    events.slice(row, "run", &name, run.span, &args.to_string())?;
                }
                write_dispatches(&group, &mut events, &mut labels, &mut notes)?;
            }
            Item::Other(fact) => match fact.appearance() {
                Appearance::Slice(slice) => events.side_slice(&slice)?,
                Appearance::Counter(sample) => {
                    let (name, unit) = counter_title(recording, sample.counter);
                    events.counter(&name, if unit.is_empty() { "value" } else { unit }, sample.at, sample.value)?;
                }
                Appearance::Memory(allocation) => {
                    let bytes = memory.add(allocation) as f64;
                    let name = side_title(recording, "tensor memory", allocation.thread);
                    events.counter(&name, "bytes", allocation.at, bytes)?;
                }
                Appearance::Marker(marker) if marker.operation == MarkerOperation::Mark => events.mark(marker)?,
                Appearance::Marker(marker) => {
                    // If slices begin at the same time, viewers of this format take the longer one as the outer one.
                    match nesting.place(marker.thread, recording.nanos_since_boot(marker.span)) {
                        Some(_) => events.range(marker)?,
                        None => events.crossing_range(marker)?,
                    }
                }
                Appearance::Nothing => {}
                Appearance::InRun => unreachable!("grouped into runs"),
            },
        }
    }
    events.end()?;
    Ok(())
}

fn write_dispatches(
    group: &RunGroup,
    events: &mut Events<'_>,
    labels: &mut LabelTable<'_>,
    notes: &mut HashMap<(u64, u32), String>,
) -> io::Result<()> {
    for dispatch in &group.dispatches {
        let label = labels.get(dispatch.plan, dispatch.kernel);
        let kept = notes.entry((dispatch.plan, dispatch.kernel)).or_insert_with(|| {
            let all = label.notes().into_iter().map(|(name, text)| (name.to_owned(), Value::String(text)));
            let text = Value::Object(all.collect::<Map<_, _>>()).to_string();
            // The closing brace is removed, because the run's number follows.
            text.strip_suffix('}').unwrap_or_default().to_owned()
        });
        let row = events.thread(dispatch.thread);
        let path = match &dispatch.path[..] {
            [] => String::new(),
            _ => format!(",\"path\":{}", Value::from(path_text(events.recording, dispatch))),
        };
        let args = format!("{kept},\"run\":{}{path}}}", dispatch.run);
        events.slice(row, "operator", &label.title, dispatch.span, &args)?;
    }
    Ok(())
}

struct Events<'a> {
    into: &'a mut dyn Write,
    pid: u32,
    recording: &'a Recording,
    rows: BTreeMap<u64, String>,
    /// The number of ranges that cross others.
    crossing: u64,
}

impl Events<'_> {
    fn begin(&mut self, shown: Option<ShownRuns>) -> io::Result<()> {
        let manifest = self.recording.manifest();
        let name = format!(
            "{} ({} {}, {})",
            manifest.model.path, manifest.engine.name, manifest.engine.version, manifest.engine.fidelity
        );
        let mut args = json!({"name": name, "schema": SCHEMA, "complete": self.recording.is_complete()});
        if let Some(shown) = shown {
            args["shows"] = shown.to_string().into();
            args["runs"] = json!(shown);
        }
        write!(self.into, "[\n{}", json!({"ph": "M", "name": "process_name", "pid": self.pid, "tid": 0, "args": args}))
    }

    /// Returns the number of a thread's row. The row is named when it is first used.
    fn thread(&mut self, thread: u32) -> u64 {
        let row = u64::from(thread);
        self.rows.entry(row).or_insert_with(|| thread_title(self.recording, thread));
        row
    }

    /// Writes a slice on a row of its own, because it overlaps with runs.
    fn side_slice(&mut self, slice: &Slice) -> io::Result<()> {
        let row = (slice.track.number << SIDE_ROWS) + u64::from(slice.thread);
        self.rows.entry(row).or_insert_with(|| side_title(self.recording, slice.track.title, slice.thread));
        let notes = slice.notes.iter().map(|(name, note)| {
            let value = match note {
                Note::Number(number) => Value::from(*number),
                Note::True => Value::Bool(true),
                Note::Missing => Value::Null,
            };
            ((*name).to_owned(), value)
        });
        let args = Value::Object(notes.collect()).to_string();
        self.slice(row, slice.category, slice.title, slice.span, &args)
    }

    fn slice(&mut self, row: u64, category: &str, name: &str, span: Span, args: &str) -> io::Result<()> {
        let (start, end) = self.recording.nanos_since_boot(span);
        let (ts, dur) = (micros(start), micros(end - start));
        let name = Value::from(name);
        write!(
            self.into,
            ",\n{{\"ph\":\"X\",\"cat\":\"{category}\",\"name\":{name},\"pid\":{},\"tid\":{row},\"ts\":{ts},\"dur\":{dur},\"args\":{args}}}",
            self.pid
        )
    }

    fn range(&mut self, marker: &MarkerFact) -> io::Result<()> {
        let row = self.thread(marker.thread);
        self.slice(row, "marker", &self.recording.marker_name(marker.name), marker.span, range_args(marker))
    }

    fn mark(&mut self, marker: &MarkerFact) -> io::Result<()> {
        let row = self.thread(marker.thread);
        let name = Value::from(self.recording.marker_name(marker.name));
        let ts = micros(self.recording.nanos_since_boot(marker.span).0);
        write!(
            self.into,
            ",\n{{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"marker\",\"name\":{name},\"pid\":{},\"tid\":{row},\"ts\":{ts}}}",
            self.pid
        )
    }

    /// Writes a range that crosses another one as an asynchronous event, because slices of one row must not cross.
    fn crossing_range(&mut self, marker: &MarkerFact) -> io::Result<()> {
        let row = self.thread(marker.thread);
        let name = Value::from(self.recording.marker_name(marker.name));
        let (start, end) = self.recording.nanos_since_boot(marker.span);
        let args = range_args(marker);
        self.crossing += 1;
        for (phase, nanos) in [("b", start), ("e", end)] {
            let (ts, pid, id) = (micros(nanos), self.pid, self.crossing);
            write!(
                self.into,
                ",\n{{\"ph\":\"{phase}\",\"id\":{id},\"cat\":\"marker\",\"name\":{name},\"pid\":{pid},\"tid\":{row},\"ts\":{ts},\"args\":{args}}}"
            )?;
        }
        Ok(())
    }

    fn counter(&mut self, name: &str, unit: &str, at: Ticks, value: f64) -> io::Result<()> {
        let ts = micros(self.recording.calibration().timestamp(at).as_nanos());
        let (name, args) = (Value::from(name), json!({unit: value}));
        write!(
            self.into,
            ",\n{{\"ph\":\"C\",\"name\":{name},\"pid\":{},\"tid\":0,\"ts\":{ts},\"args\":{args}}}",
            self.pid
        )
    }

    fn end(&mut self) -> io::Result<()> {
        for (index, (row, name)) in self.rows.iter().enumerate() {
            let args = json!({"name": name});
            let named = json!({"ph": "M", "name": "thread_name", "pid": self.pid, "tid": row, "args": args});
            let args = json!({"sort_index": index});
            let sorted = json!({"ph": "M", "name": "thread_sort_index", "pid": self.pid, "tid": row, "args": args});
            write!(self.into, ",\n{named},\n{sorted}")?;
        }
        self.into.write_all(b"\n]\n")
    }
}

/// Returns the arguments of a range, as JSON.
fn range_args(marker: &MarkerFact) -> &'static str {
    if marker.operation == MarkerOperation::OpenRange { r#"{"open_at_the_end":true}"# } else { "{}" }
}

/// Returns nanoseconds as microseconds with exactly three decimals.
pub(super) fn micros(nanos: u64) -> String {
    format!("{}.{:03}", nanos / 1000, nanos % 1000)
}
