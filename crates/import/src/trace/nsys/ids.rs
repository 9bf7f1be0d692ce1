//! The numbers of an export: of processes and threads, devices, streams, correlations and texts.

use foldhash::HashMap;

use crate::ImportError;
use crate::trace::assemble::Assembler;
use crate::trace::event::Track;
use crate::trace::sqlite::{Columns, Database, Lookup};

/// Resolves numbers of an export.
pub(super) struct Ids<'a> {
    database: &'a Database,
    texts: Option<Lookup<'a>>,
    /// The number of a device in the machine, by process and by its number in the process.
    devices: HashMap<(u64, i64), u32>,
    /// The number of a context among those of a device.
    contexts: HashMap<(u32, u64, i64), u64>,
    contexts_of: HashMap<u32, u64>,
}

impl<'a> Ids<'a> {
    pub fn new(database: &'a Database) -> Self {
        Self {
            database,
            texts: database.lookup("StringIds", "id", &["value"]),
            devices: HashMap::default(),
            contexts: HashMap::default(),
            contexts_of: HashMap::default(),
        }
    }

    /// Returns a text by its number.
    pub fn text(&mut self, number: Option<i64>) -> Option<String> {
        self.texts.as_mut()?.text(number?, 0)
    }

    /// Returns the track of a thread by its global number.
    pub fn thread(into: &mut Assembler, global: Option<i64>) -> Track {
        let global = global.unwrap_or(0) as u64;
        into.thread(process_of(global), global & 0xFF_FFFF)
    }

    /// Returns the track of a stream. Each process, and each context, has a stream of the same number of its own.
    pub fn stream(&mut self, into: &mut Assembler, of: &StreamOf) -> Track {
        let process = process_of(of.global as u64);
        let device = self.devices.get(&(process, of.device)).copied();
        let device = device.unwrap_or_else(|| u32::try_from(of.device).unwrap_or(0));
        let next = self.contexts_of.entry(device).or_default();
        let context = *self.contexts.entry((device, process, of.context)).or_insert_with(|| {
            *next += 1;
            *next - 1
        });
        into.stream(device, (context << 32) | (of.stream as u64 & 0xFFFF_FFFF))
    }

    /// Reads the names of devices, and which device a process means by a number.
    pub fn read_devices(&mut self, into: &mut Assembler) -> Result<(), ImportError> {
        let columns = Columns { table: "TARGET_INFO_GPU", needed: &["id", "name"], optional: &[] };
        self.database.rows(&columns, into, |row, into| {
            if let (Some(Ok(number)), Some(name)) = (row.int(0).map(u32::try_from), row.text(1)) {
                into.name_device(number, &name);
            }
            Ok(())
        })?;
        let table = "TARGET_INFO_CUDA_DEVICE";
        let columns = Columns { table, needed: &["gpuId", "cudaId", "pid"], optional: &[] };
        let devices = &mut self.devices;
        self.database.rows(&columns, into, |row, _| {
            if let (Some(Ok(device)), Some(number), Some(Ok(process))) =
                (row.int(0).map(u32::try_from), row.int(1), row.int(2).map(u64::try_from))
            {
                devices.insert((process, number), device);
            }
            Ok(())
        })
    }

    /// Reads the names of processes and threads.
    pub fn read_processes(&mut self, into: &mut Assembler) -> Result<(), ImportError> {
        let columns = Columns { table: "PROCESSES", needed: &["globalPid", "pid"], optional: &["name"] };
        let mut processes = Vec::new();
        self.database.rows(&columns, into, |row, _| {
            if let (Some(Ok(process)), Some(name)) = (row.int(1).map(u32::try_from), row.text(2)) {
                processes.push((process, name.into_owned()));
            }
            Ok(())
        })?;
        // Nsight Systems lists every process of the machine in some versions; the program is the one with CUDA in it.
        let with_devices = |process: &u32| self.devices.keys().any(|(of, _)| *of == u64::from(*process));
        let program = processes.iter().find(|(process, _)| with_devices(process));
        if let Some((process, name)) = program.or(processes.first().filter(|_| processes.len() == 1)) {
            (into.about.process, into.about.program) = (*process, name.clone());
        }
        let columns = Columns { table: "ThreadNames", needed: &["nameId", "globalTid"], optional: &[] };
        let texts = &mut self.texts;
        self.database.rows(&columns, into, |row, into| {
            let name = row.int(0).and_then(|number| texts.as_mut()?.text(number, 0));
            if let (Some(name), Some(global)) = (name, row.int(1)) {
                let track = Self::thread(into, Some(global));
                into.name_track(track, &name);
            }
            Ok(())
        })
    }
}

/// What tells a stream from others.
pub(super) struct StreamOf {
    pub global: i64,
    pub device: i64,
    pub context: i64,
    pub stream: i64,
}

/// Returns the process of a global number of a process or thread.
pub(super) fn process_of(global: u64) -> u64 {
    (global >> 24) & 0xFF_FFFF
}

/// Returns what ties a call to the device's work: its number in its process, which is 32 bits wide.
pub(super) fn correlation(global: Option<i64>, number: u64) -> u64 {
    match number {
        0 => 0,
        _ => (process_of(global.unwrap_or(0) as u64) << 32) | (number & 0xFFFF_FFFF),
    }
}
