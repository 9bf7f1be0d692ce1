//! The columns of a file, and what its lines become.

use std::borrow::Cow;

use csv::ByteRecord;

use crate::ImportError;
use crate::trace::assemble::Assembler;
use crate::trace::event::{Event, What};
use crate::trace::names::{copy_name, is_marker_domain};

/// The stream of copies in files that do not tell theirs.
const COPIES: u64 = 1 << 32;

/// What the lines of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Kernels,
    Copies,
    /// Calls, ranges and marks, told apart by their domain.
    Calls,
    Agents,
    /// Events that have no place in a recording.
    Unread(&'static str),
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernels => "kernel",
            Self::Copies => "memory copy",
            Self::Calls => "call",
            Self::Agents => "agent",
            Self::Unread(name) => name,
        }
    }
}

/// A file of which the columns are known.
pub(super) struct Table {
    pub kind: Kind,
    places: [Option<usize>; COLUMNS.len()],
}

/// The columns that are read.
#[derive(Debug, Clone, Copy)]
enum Column {
    Start,
    End,
    Correlation,
    Process,
    Thread,
    Agent,
    Queue,
    Stream,
    Kernel,
    Domain,
    Function,
    Direction,
    Source,
    Destination,
    Node,
    Type,
    Product,
    Model,
    Name,
}

/// Their names, in small letters: those of files that were made from a database are written in another way.
const COLUMNS: [&str; 19] = [
    "start_timestamp",
    "end_timestamp",
    "correlation_id",
    "process_id",
    "thread_id",
    "agent_id",
    "queue_id",
    "stream_id",
    "kernel_name",
    "domain",
    "function",
    "direction",
    "source_agent_id",
    "destination_agent_id",
    "node_id",
    "agent_type",
    "product_name",
    "model_name",
    "name",
];

impl Table {
    /// Finds the columns of a first line. Returns `None` if it is not one of rocprofv3's.
    pub fn new(first: &ByteRecord) -> Option<Self> {
        let names: Vec<String> = first
            .iter()
            .map(|name| {
                String::from_utf8_lossy(name.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(name)).trim().to_lowercase()
            })
            .collect();
        let has = |column: &str| names.iter().any(|name| name == column);
        let has_times = has("start_timestamp") && has("end_timestamp");
        let kind = if has("counter_name") && has("counter_value") {
            Kind::Unread("counter collection")
        } else if has("agent_type") && has("node_id") {
            Kind::Agents
        } else if !has_times {
            return None;
        } else if has("kernel_name") {
            Kind::Kernels
        } else if has("direction") {
            Kind::Copies
        } else if has("domain") && has("function") {
            Kind::Calls
        } else if has("allocation_size") || has("operation") {
            Kind::Unread("memory allocation")
        } else {
            return None;
        };
        let places = COLUMNS.map(|column| names.iter().position(|name| name == column));
        Some(Self { kind, places })
    }

    /// Hands a line over. Returns false if it lacks what it needs.
    pub fn take(&self, line: &ByteRecord, into: &mut Assembler) -> Result<bool, ImportError> {
        let fields = Fields { places: &self.places, line };
        if self.kind == Kind::Agents {
            return Ok(fields.agent(into).is_some());
        }
        let Some((start, duration)) = fields.span() else { return Ok(false) };
        let Some((what, name, track)) = (match self.kind {
            Kind::Kernels => fields.kernel(into),
            Kind::Copies => fields.copy(into),
            Kind::Calls => fields.call(duration, into),
            Kind::Agents | Kind::Unread(_) => None,
        }) else {
            return Ok(false);
        };
        let is_tied = what.is_device_work() || what == What::Call;
        let correlation = if is_tied { fields.number(Column::Correlation).unwrap_or(0) } else { 0 };
        into.add(&Event { what, name: &name, track, start, duration, correlation, external: 0, op: "", inputs: "" })?;
        Ok(true)
    }
}

/// The fields of a line.
struct Fields<'a> {
    places: &'a [Option<usize>; COLUMNS.len()],
    line: &'a ByteRecord,
}

/// What an event is, its name and its track.
type Named<'a> = (What, Cow<'a, str>, crate::trace::event::Track);

impl<'a> Fields<'a> {
    fn kernel(&self, into: &mut Assembler) -> Option<Named<'a>> {
        let device = device(&self.text(Column::Agent)?)?;
        // The queue of the hardware, where the file does not tell the stream of the program.
        let stream = self.number(Column::Stream).or_else(|| self.number(Column::Queue)).unwrap_or(0);
        Some((What::Kernel, self.text(Column::Kernel)?, into.stream(device, stream)))
    }

    fn copy(&self, into: &mut Assembler) -> Option<Named<'a>> {
        let direction = self.text(Column::Direction)?;
        let name = Cow::Owned(copy_name(&direction).into_owned());
        // On the device's side: the target, but the source if the target is the host.
        let agent = if direction.ends_with("TO_HOST") { Column::Source } else { Column::Destination };
        let device = device(&self.text(agent)?)?;
        let track = match self.number(Column::Stream) {
            Some(stream) => into.stream(device, stream),
            None => {
                let track = into.stream(device, COPIES);
                into.name_track(track, "copies");
                track
            }
        };
        Some((What::Copy, name, track))
    }

    fn call(&self, duration: u64, into: &mut Assembler) -> Option<Named<'a>> {
        let is_marker = is_marker_domain(&self.text(Column::Domain)?);
        let what = match (is_marker, duration) {
            (true, 0) => What::Mark,
            (true, _) => What::Range,
            (false, _) => What::Call,
        };
        let process = self.number(Column::Process).unwrap_or(0);
        if into.about.process == 0 {
            into.about.process = u32::try_from(process).unwrap_or(0);
        }
        // A range that one thread began and another ended has thread 0.
        let thread = self.number(Column::Thread).filter(|thread| *thread != 0).unwrap_or(process);
        Some((what, self.text(Column::Function)?, into.thread(process, thread)))
    }

    fn agent(&self, into: &mut Assembler) -> Option<()> {
        let number = device(&self.text(Column::Node)?)?;
        let names = [Column::Product, Column::Model, Column::Name];
        let name = names.into_iter().find_map(|column| self.text(column)).unwrap_or_default();
        match &*self.text(Column::Type)? {
            "GPU" => into.name_device(number, &name),
            _ if into.about.cpu.is_empty() => into.about.cpu = name.into_owned(),
            _ => {}
        }
        Some(())
    }

    /// Returns when the event began and how long it took.
    fn span(&self) -> Option<(u64, u64)> {
        let (start, end) = (self.number(Column::Start)?, self.number(Column::End)?);
        Some((start, end.checked_sub(start)?))
    }

    fn number(&self, column: Column) -> Option<u64> {
        self.text(column)?.trim().parse().ok()
    }

    /// Returns a field that is not empty.
    fn text(&self, column: Column) -> Option<Cow<'a, str>> {
        let field = self.line.get(self.places[column as usize]?)?;
        (!field.is_empty()).then(|| String::from_utf8_lossy(field))
    }
}

/// Returns the number of an agent, which is written as `8` or `Agent 8`.
fn device(agent: &str) -> Option<u32> {
    agent.trim().rsplit(' ').next()?.parse().ok()
}
