//! What devices did: kernels, graphs, copies, setting memory, and the counters.

use std::collections::BTreeMap;

use super::ids::{StreamOf, correlation};
use super::{Export, Span};
use crate::ImportError;
use crate::trace::assemble::Assembler;
use crate::trace::event::{Event, What};
use crate::trace::sqlite::Columns;

/// The columns that tell the stream, and what launched the work.
const PLACE: [&str; 5] = ["globalPid", "deviceId", "contextId", "streamId", "correlationId"];

impl Export<'_> {
    pub(super) fn device(&mut self, into: &mut Assembler) -> Result<(), ImportError> {
        self.kernels(into)?;
        self.graphs(into)?;
        self.copies(into)?;
        self.work("CUPTI_ACTIVITY_KIND_MEMSET", &[], into, |_| "Memset (Device)".to_owned())?;
        self.waits(into)?;
        self.counters(into)
    }

    fn kernels(&mut self, into: &mut Assembler) -> Result<(), ImportError> {
        let [process, device, context, stream, launch] = PLACE;
        let columns = [process, device, context, stream, launch, "demangledName", "shortName", "mangledName"];
        self.spans("CUPTI_ACTIVITY_KIND_KERNEL", &columns, into, |ids, span, into| {
            let name = [5, 6, 7].into_iter().find_map(|column| ids.text(span.int(column)));
            let track = ids.stream(into, &stream_of(&span));
            into.add(&event(What::Kernel, name.as_deref().unwrap_or("kernel without a name"), &span, track))
        })
    }

    /// Graphs as a whole, which are recorded instead of their kernels unless `--cuda-graph-trace=node` is given.
    fn graphs(&mut self, into: &mut Assembler) -> Result<(), ImportError> {
        let table = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
        let [process, device, context, stream, launch] = PLACE;
        self.spans(table, &[process, device, context, stream, launch, "graphId"], into, |ids, span, into| {
            let track = ids.stream(into, &stream_of(&span));
            into.add(&event(What::Kernel, &format!("CUDA graph {}", span.count(5)), &span, track))
        })
    }

    fn copies(&mut self, into: &mut Assembler) -> Result<(), ImportError> {
        let mut names = BTreeMap::new();
        let columns = Columns { table: "ENUM_CUDA_MEMCPY_OPER", needed: &["id", "label"], optional: &[] };
        self.database.rows(&columns, into, |row, _| {
            if let (Some(kind), Some(label)) = (row.int(0), row.text(1)) {
                names.insert(kind, label.into_owned());
            }
            Ok(())
        })?;
        self.work("CUPTI_ACTIVITY_KIND_MEMCPY", &["copyKind"], into, |kind| copy_name(kind, &names))
    }

    /// Reads a table of copies, which are named by their kind.
    fn work(
        &mut self,
        table: &'static str,
        kind: &[&str],
        into: &mut Assembler,
        name_of: impl Fn(Option<i64>) -> String,
    ) -> Result<(), ImportError> {
        let columns: Vec<&str> = PLACE.iter().chain(kind).copied().collect();
        self.spans(table, &columns, into, |ids, span, into| {
            let name = name_of(span.int(5));
            let track = ids.stream(into, &stream_of(&span));
            into.add(&event(What::Copy, &name, &span, track))
        })
    }

    /// Waits for a stream, an event or all of a device. They take no time of the device.
    fn waits(&mut self, into: &mut Assembler) -> Result<(), ImportError> {
        let columns: Vec<&str> = PLACE.into_iter().chain(["syncType"]).collect();
        self.spans("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", &columns, into, |ids, span, into| {
            let name = match span.int(5) {
                Some(1) => "Event Sync",
                Some(2) => "Stream Wait Event",
                Some(3) => "Stream Sync",
                Some(4) => "Context Sync",
                _ => "Sync",
            };
            let track = ids.stream(into, &stream_of(&span));
            into.add(&event(What::DeviceRange, name, &span, track))
        })
    }

    fn counters(&mut self, into: &mut Assembler) -> Result<(), ImportError> {
        let mut metrics = BTreeMap::new();
        let needed = &["typeId", "metricId", "metricName"];
        let columns = Columns { table: "TARGET_INFO_GPU_METRICS", needed, optional: &[] };
        self.database.rows(&columns, into, |row, _| {
            if let (Some(of), Some(metric), Some(name)) = (row.int(0), row.int(1), row.text(2)) {
                metrics.insert((of, metric), name.into_owned());
            }
            Ok(())
        })?;
        let table = "GPU_METRICS";
        self.read.push(table);
        let needed = &["timestamp", "typeId", "metricId", "value"];
        self.database.rows(&Columns { table, needed, optional: &[] }, into, |row, into| {
            let time = row.int(0).and_then(|time| u64::try_from(time).ok());
            let metric = row.int(1).zip(row.int(2));
            match (time, metric, row.real(3)) {
                (Some(time), Some(metric), Some(value)) => {
                    // The lowest byte of a type is the device that was measured.
                    let name = metrics.get(&metric).cloned().unwrap_or_else(|| format!("metric {}", metric.1));
                    into.sample(&format!("GPU {}: {name}", metric.0 & 0xFF), "", time, value)
                }
                _ => {
                    into.not_imported("sample without a time or value", table);
                    Ok(())
                }
            }
        })?;
        self.memory(into)
    }

    /// The bytes that are allocated on each device, summed over its allocations.
    fn memory(&mut self, into: &mut Assembler) -> Result<(), ImportError> {
        let table = "CUDA_GPU_MEMORY_USAGE_EVENTS";
        self.read.push(table);
        let needed = &["start", "bytes", "memoryOperationType"];
        let columns = Columns { table, needed, optional: &["deviceId"] };
        let mut used: BTreeMap<i64, i64> = BTreeMap::new();
        self.database.rows(&columns, into, |row, into| {
            let sign = match row.int(2) {
                Some(0) => 1,
                Some(1) => -1,
                _ => 0,
            };
            let (Some(Ok(time)), Some(bytes), true) = (row.int(0).map(u64::try_from), row.int(1), sign != 0) else {
                into.not_imported("allocation of an unknown kind", table);
                return Ok(());
            };
            let device = row.int(3).unwrap_or(0);
            let sum = used.entry(device).or_default();
            *sum = sum.saturating_add(bytes.saturating_mul(sign));
            into.sample(&format!("GPU {device}: allocated memory"), "bytes", time, *sum as f64)
        })
    }
}

fn stream_of(span: &Span<'_>) -> StreamOf {
    let [global, device, context, stream] = [0, 1, 2, 3].map(|column| span.int(column).unwrap_or(0));
    StreamOf { global, device, context, stream }
}

fn event<'a>(what: What, name: &'a str, span: &Span<'_>, track: crate::trace::event::Track) -> Event<'a> {
    Event {
        what,
        name,
        track,
        start: span.start,
        duration: span.duration,
        correlation: correlation(span.int(0), span.count(4)),
        external: 0,
        op: "",
        inputs: "",
    }
}

/// Names a copy as PyTorch's profiler does, so that recordings of both compare.
fn copy_name(kind: Option<i64>, names: &BTreeMap<i64, String>) -> String {
    let short = match kind {
        Some(1) => "HtoD",
        Some(2) => "DtoH",
        Some(3) => "HtoA",
        Some(4) => "AtoH",
        Some(5) => "AtoA",
        Some(6) => "AtoD",
        Some(7) => "DtoA",
        Some(8) => "DtoD",
        Some(9) => "HtoH",
        Some(10) => "PtoP",
        Some(other) => return format!("Memcpy {}", names.get(&other).map_or("of an unknown kind", String::as_str)),
        None => return "Memcpy".to_owned(),
    };
    format!("Memcpy {short}")
}
