//! The tables of one run, and what their numbers mean.

use std::collections::BTreeMap;

use foldhash::HashMap;

use crate::ImportError;
use crate::trace::assemble::Assembler;
use crate::trace::event::Track;
use crate::trace::sqlite::{Columns, Database, Lookup, Row};

/// What is the same in all runs of a file.
#[derive(Default)]
pub(super) struct Machine {
    /// The numbers of nodes by their identifier.
    nodes: BTreeMap<String, u32>,
    processes: u64,
}

/// The most devices of a node; those of the next are numbered from there on.
const DEVICES_OF_NODE: u32 = 256;

/// The tables of a run.
pub(super) struct Run<'a> {
    pub database: &'a Database,
    tables: BTreeMap<&'static str, &'a str>,
    pub strings: Option<Lookup<'a>>,
    pub symbols: Option<Lookup<'a>>,
    pub events: Option<Lookup<'a>>,
    pub timestamps: Option<Lookup<'a>>,
    tracks: Option<Lookup<'a>>,
    /// The number of a process of the system, and its place among the processes of the file.
    processes: HashMap<i64, (u64, u64)>,
    /// The numbers of threads of the system.
    threads: HashMap<i64, u64>,
    /// The numbers of devices, if they are no processors.
    devices: HashMap<i64, u32>,
    /// When the event of a counter's value happened.
    pub times: HashMap<i64, u64>,
}

/// Whose an event is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    pub process: Option<i64>,
    pub thread: Option<i64>,
    pub agent: Option<i64>,
    pub queue: Option<i64>,
    pub stream: Option<i64>,
    pub name: Option<i64>,
}

/// The columns of events that say when and where they happened, in both schemas. The earlier one has numbers of rows
/// of other tables instead.
pub(super) const PLACE: [&str; 9] =
    ["start", "end", "start_id", "end_id", "track_id", "pid", "tid", "queue_id", "stream_id"];

impl<'a> Run<'a> {
    /// Reads what the numbers of a run mean.
    pub fn read(
        database: &'a Database,
        tables: BTreeMap<&'static str, &'a str>,
        machine: &mut Machine,
        into: &mut Assembler,
    ) -> Result<Self, ImportError> {
        let lookup = |table: &str, columns: &[&str]| database.lookup(tables.get(table)?, "id", columns);
        let mut run = Self {
            database,
            strings: lookup("rocpd_string", &["string"]),
            symbols: lookup("rocpd_info_kernel_symbol", &["display_name", "kernel_name"]),
            events: lookup("rocpd_event", &["stack_id", "correlation_id", "category_id", "extdata"]),
            timestamps: lookup("rocpd_timestamp", &["value"]),
            tracks: lookup("rocpd_track", &["pid", "tid", "agent_id", "queue_id", "stream_id", "name_id"]),
            tables,
            processes: HashMap::default(),
            threads: HashMap::default(),
            devices: HashMap::default(),
            times: HashMap::default(),
        };
        let nodes = run.nodes(machine, into)?;
        run.processes(machine, into)?;
        run.threads(into)?;
        run.agents(&nodes, into)?;
        Ok(run)
    }

    /// Returns the name of this run's table of a kind.
    pub fn table(&self, base: &str) -> Option<&'a str> {
        self.tables.get(base).copied()
    }

    /// Returns the number of each node in the file.
    fn nodes(&self, machine: &mut Machine, into: &mut Assembler) -> Result<HashMap<i64, u32>, ImportError> {
        let mut nodes = HashMap::default();
        let Some(table) = self.table("rocpd_info_node") else { return Ok(nodes) };
        let columns = Columns { table, needed: &["id"], optional: &["machine_id", "hostname"] };
        self.database.rows(&columns, into, |row, into| {
            let next = machine.nodes.len() as u32;
            let identifier = row.text(1).or(row.text(2)).unwrap_or_default().into_owned();
            let number = *machine.nodes.entry(identifier).or_insert(next);
            if let Some(id) = row.int(0) {
                nodes.insert(id, number);
            }
            match row.text(2) {
                Some(host) if into.about.host.is_empty() => into.about.host = host.into_owned(),
                _ => {}
            }
            Ok(())
        })?;
        Ok(nodes)
    }

    fn processes(&mut self, machine: &mut Machine, into: &mut Assembler) -> Result<(), ImportError> {
        let Some(table) = self.table("rocpd_info_process") else { return Ok(()) };
        let columns = Columns { table, needed: &["id", "pid"], optional: &["command"] };
        let processes = &mut self.processes;
        self.database.rows(&columns, into, |row, into| {
            let (Some(id), Some(Ok(process))) = (row.int(0), row.int(1).map(u64::try_from)) else { return Ok(()) };
            processes.insert(id, (process, machine.processes));
            machine.processes += 1;
            if into.about.process == 0 {
                into.about.process = u32::try_from(process).unwrap_or(0);
                into.about.program = row.text(2).unwrap_or_default().into_owned();
            }
            Ok(())
        })
    }

    fn threads(&mut self, into: &mut Assembler) -> Result<(), ImportError> {
        let Some(table) = self.table("rocpd_info_thread") else { return Ok(()) };
        let columns = Columns { table, needed: &["id", "tid"], optional: &["pid", "name"] };
        let (threads, processes) = (&mut self.threads, &self.processes);
        self.database.rows(&columns, into, |row, into| {
            let (Some(id), Some(Ok(thread))) = (row.int(0), row.int(1).map(u64::try_from)) else { return Ok(()) };
            threads.insert(id, thread);
            if let Some(name) = row.text(3) {
                let process = row.int(2).and_then(|process| processes.get(&process)).map_or(0, |of| of.0);
                let track = into.thread(process, thread);
                into.name_track(track, &name);
            }
            Ok(())
        })
    }

    fn agents(&mut self, nodes: &HashMap<i64, u32>, into: &mut Assembler) -> Result<(), ImportError> {
        let Some(table) = self.table("rocpd_info_agent") else { return Ok(()) };
        let optional = &["nid", "type", "absolute_index", "product_name", "model_name", "name"];
        let devices = &mut self.devices;
        self.database.rows(&Columns { table, needed: &["id"], optional }, into, |row, into| {
            let name = [4, 5, 6].into_iter().find_map(|column| row.text(column));
            if row.text(2).as_deref() == Some("CPU") {
                if into.about.cpu.is_empty() {
                    into.about.cpu = name.unwrap_or_default().into_owned();
                }
                return Ok(());
            }
            let Some(id) = row.int(0) else { return Ok(()) };
            let node = row.int(1).and_then(|node| nodes.get(&node)).copied().unwrap_or(0);
            let index = row.int(3).and_then(|index| u32::try_from(index).ok()).unwrap_or(id as u32);
            let device = node.saturating_mul(DEVICES_OF_NODE).saturating_add(index);
            devices.insert(id, device);
            if let Some(name) = name {
                into.name_device(device, &name);
            }
            Ok(())
        })
    }

    /// Returns whose an event is, by the columns of [`PLACE`] from `first` on.
    pub fn place(&mut self, row: &Row<'_>, first: usize) -> Place {
        let [track, process, thread, queue, stream] = [4, 5, 6, 7, 8].map(|column| row.int(first + column));
        let mut place = Place { process, thread, queue, stream, ..Place::default() };
        if let Some(found) = track.and_then(|track| self.tracks.as_mut()?.find(track)) {
            let number = |column: usize| found[column].as_deref().and_then(|text| text.parse().ok());
            place = Place {
                process: place.process.or(number(0)),
                thread: place.thread.or(number(1)),
                agent: number(2),
                queue: place.queue.or(number(3)),
                stream: place.stream.or(number(4)),
                name: number(5),
            };
        }
        place
    }

    /// Returns when an event began and how long it took, by the columns of [`PLACE`] from `first` on.
    pub fn span(&mut self, row: &Row<'_>, first: usize) -> Option<(u64, u64)> {
        if let Some(span) = row.span(first, first + 1) {
            return Some(span);
        }
        let (start, end) = (self.moment(row.int(first + 2)?)?, self.moment(row.int(first + 3)?)?);
        Some((start, end.checked_sub(start)?))
    }

    /// Returns the time with this number, in the schema before 3.
    pub fn moment(&mut self, number: i64) -> Option<u64> {
        self.timestamps.as_mut()?.text(number, 0)?.parse().ok()
    }

    /// Returns a text by its number.
    pub fn text(&mut self, number: Option<i64>) -> Option<String> {
        self.strings.as_mut()?.text(number?, 0)
    }

    /// Returns the track of a thread.
    pub fn thread(&self, into: &mut Assembler, place: &Place) -> Track {
        let process = self.process(place).0;
        let thread = place.thread.and_then(|thread| self.threads.get(&thread)).copied();
        into.thread(process, thread.unwrap_or(process))
    }

    /// Returns the track of a stream of a device. Each process has a stream of the same number of its own.
    pub fn stream(&self, into: &mut Assembler, agent: Option<i64>, place: &Place) -> Track {
        let device = agent.and_then(|agent| self.devices.get(&agent)).copied().unwrap_or(0);
        let stream = place.stream.or(place.queue).unwrap_or(0) as u64 & 0xFFFF_FFFF;
        into.stream(device, (self.process(place).1 << 32) | stream)
    }

    /// Returns whether an agent is a device, not a processor.
    pub fn is_device(&self, agent: Option<i64>) -> bool {
        agent.is_some_and(|agent| self.devices.contains_key(&agent))
    }

    /// Returns the number of a process of the system, and its place in the file.
    fn process(&self, place: &Place) -> (u64, u64) {
        place.process.and_then(|process| self.processes.get(&process)).copied().unwrap_or((0, 0))
    }

    /// Returns what ties the work of a device to the call that launched it. Both have the internal number of the call
    /// (`stack_id`); the other number is the user's own, and only taken where there is no internal one.
    pub fn correlation(&mut self, event: Option<i64>, place: &Place) -> u64 {
        let process = self.process(place).1;
        let found = event.and_then(|event| self.events.as_mut()?.find(event));
        let number = |column: usize| {
            let number: u64 = found.as_ref()?.get(column)?.as_deref()?.parse().ok()?;
            (number > 0).then_some(number)
        };
        match number(0).or_else(|| number(1)) {
            Some(number) => number.wrapping_add(process << 44),
            None => 0,
        }
    }
}
