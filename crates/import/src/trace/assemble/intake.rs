//! Takes what the readers hand over.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use foldhash::HashMap;

use super::names::{NameNumber, Names};
use super::rows::{DeviceRow, EventRow, SampleRow};
use super::runs::Run;
use super::sorter::Sorter;
use super::steps::{StepNames, Steps};
use super::tracks::{TrackOf, Tracks};
use crate::ImportError;
use crate::trace::event::{Event, Track, What};

/// What a trace says about itself. What it does not say stays empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct About {
    /// The tool that wrote it, such as `torch.profiler`.
    pub producer: String,
    pub version: String,
    /// The name of the machine.
    pub host: String,
    pub cpu: String,
    pub process: u32,
    pub program: String,
    /// The number of the process among those of a job.
    pub rank: Option<u32>,
    /// What the trace's zero is, in nanoseconds since 1970.
    pub zero_unix_ns: Option<u64>,
    /// Sentences for readers of the recording.
    pub notes: Vec<String>,
}

/// Takes the events of a trace, in any order.
pub(crate) struct Assembler {
    pub about: About,
    pub(super) scratch: PathBuf,
    pub(super) names: Names,
    pub(super) tracks: Tracks,
    pub(super) host: Sorter<EventRow>,
    pub(super) device: Sorter<DeviceRow>,
    pub(super) samples: Sorter<SampleRow>,
    /// The numbers of the counters, by name and unit.
    pub(super) counters: HashMap<(NameNumber, NameNumber), u64>,
    pub(super) steps: StepNames,
    /// The ranges that may be runs, each with its process.
    pub(super) ranges: Vec<(u64, Run)>,
    /// The number of work items of each device.
    pub(super) devices: BTreeMap<u32, u64>,
    /// The first beginning and the last end.
    pub(super) extent: Option<(u64, u64)>,
    pub(super) imported: u64,
    /// By kind and name.
    pub(super) not_imported: HashMap<(NameNumber, NameNumber), u64>,
    pub(super) damage: Vec<String>,
    pub(super) cancel: Arc<AtomicBool>,
    /// What was handed over, for the tests of the readers.
    #[cfg(test)]
    pub taken: super::taken::Taken,
}

/// The most kinds and names of events that are counted one by one. A trace with more has names that differ from event
/// to event.
const MOST_NAMES: usize = 10_000;
/// The most counters, for the same reason.
const MOST_COUNTERS: u64 = 10_000;

impl Assembler {
    /// Begins a trace. What does not fit into memory lies in the directory `scratch` until it is written.
    pub fn new(scratch: &Path, cancel: Arc<AtomicBool>) -> Self {
        Self {
            about: About::default(),
            scratch: scratch.to_owned(),
            names: Names::default(),
            tracks: Tracks::default(),
            host: Sorter::new(scratch),
            device: Sorter::new(scratch),
            samples: Sorter::new(scratch),
            counters: HashMap::default(),
            steps: StepNames::default(),
            ranges: Vec::new(),
            devices: BTreeMap::new(),
            extent: None,
            imported: 0,
            not_imported: HashMap::default(),
            damage: Vec::new(),
            cancel,
            #[cfg(test)]
            taken: super::taken::Taken::default(),
        }
    }

    /// Sets which ranges are runs.
    pub fn set_steps(&mut self, steps: Steps) {
        self.steps = StepNames::new(steps);
    }

    /// Returns the switch that ends the import when it is set.
    pub fn cancel(&self) -> &Arc<AtomicBool> {
        &self.cancel
    }

    /// Returns the track of a thread of the host.
    pub fn thread(&mut self, process: u64, thread: u64) -> Track {
        self.tracks.number(TrackOf::Thread { process, thread })
    }

    /// Returns the track of a device's stream.
    pub fn stream(&mut self, device: u32, stream: u64) -> Track {
        self.tracks.number(TrackOf::Stream { device, stream })
    }

    /// Names a thread. A stream needs no name.
    pub fn name_track(&mut self, track: Track, name: &str) {
        self.tracks.name(track, name);
    }

    /// Names a device, such as `NVIDIA H100`.
    pub fn name_device(&mut self, device: u32, name: &str) {
        self.tracks.name_device(device, name);
    }

    /// Takes an event.
    pub fn add(&mut self, event: &Event<'_>) -> Result<(), ImportError> {
        self.check_cancel()?;
        let end = event.start.saturating_add(event.duration);
        let row = EventRow {
            track: event.track.0,
            name: self.names.number(event.name).0,
            inputs: self.names.number(event.inputs).0,
            what: event.what as u32,
            op: self.names.number(event.op).0,
            reserved: 0,
            start: event.start,
            end,
            correlation: event.correlation,
            external: event.external,
        };
        let of = self.tracks.of(event.track);
        if let (TrackOf::Thread { process, .. }, What::Range | What::Module) = (of, event.what)
            && self.steps.is_step(NameNumber(row.name), &self.names)
        {
            self.ranges.push((process, Run { start: event.start, end, track: event.track }));
        }
        #[cfg(test)]
        self.taken.add(of, event);
        let stored = match of {
            TrackOf::Stream { device, .. } if event.what.is_device_work() => {
                *self.devices.entry(device).or_default() += 1;
                self.device.push(DeviceRow(row))
            }
            _ => self.host.push(row),
        };
        stored.map_err(ImportError::io("write in", &self.scratch))?;
        self.reach(event.start, end);
        self.imported += 1;
        Ok(())
    }

    /// Takes the value of a counter.
    pub fn sample(&mut self, counter: &str, unit: &str, at: u64, value: f64) -> Result<(), ImportError> {
        self.check_cancel()?;
        let key = (self.names.number(counter), self.names.number(unit));
        let next = self.counters.len() as u64;
        if next == MOST_COUNTERS && !self.counters.contains_key(&key) {
            self.not_imported("counter", "(of too many names)");
            return Ok(());
        }
        let number = *self.counters.entry(key).or_insert(next);
        let row = SampleRow { at, value, counter: number };
        #[cfg(test)]
        self.taken.sample(counter, unit, at, value);
        self.samples.push(row).map_err(ImportError::io("write in", &self.scratch))?;
        self.reach(at, at);
        self.imported += 1;
        Ok(())
    }

    /// Takes back the count of a record that is of the same event as the one before.
    pub fn count_again(&mut self) {
        self.imported -= 1;
    }

    fn reach(&mut self, start: u64, end: u64) {
        let (first, last) = self.extent.unwrap_or((start, end));
        self.extent = Some((first.min(start), last.max(end)));
    }

    /// Counts an event that has no place in a recording.
    pub fn not_imported(&mut self, kind: &str, name: &str) {
        self.not_imported_times(kind, name, 1);
    }

    /// Counts events of one kind and name that have no place in a recording.
    pub fn not_imported_times(&mut self, kind: &str, name: &str, times: u64) {
        if times == 0 {
            return;
        }
        let key = (self.names.number(kind), self.names.number(name));
        let is_full = self.not_imported.len() >= MOST_NAMES && !self.not_imported.contains_key(&key);
        let key = if is_full { (key.0, self.names.number("(of other names)")) } else { key };
        *self.not_imported.entry(key).or_default() += times;
    }

    /// Returns all that was counted as not imported, by kind and name.
    pub fn all_not_imported(&self) -> BTreeMap<(String, String), u64> {
        let text = |number| self.names.text(number).to_owned();
        self.not_imported.iter().map(|((kind, name), count)| ((text(*kind), text(*name)), *count)).collect()
    }

    /// Notes that the file is damaged: a sentence that says where, and what was lost. What could be read is imported.
    pub fn damaged(&mut self, sentence: impl Into<String>) {
        self.damage.push(sentence.into());
    }

    /// Returns an error once the caller cancelled the import.
    pub fn check_cancel(&self) -> Result<(), ImportError> {
        if self.cancel.load(Ordering::Relaxed) { Err(ImportError::Cancelled) } else { Ok(()) }
    }
}

/// What the tests of the readers look at.
#[cfg(test)]
impl Assembler {
    /// Returns how many events were counted as not imported, by kind and name.
    pub fn not_imported_of(&self, kind: &str, name: &str) -> u64 {
        self.all_not_imported().get(&(kind.to_owned(), name.to_owned())).copied().unwrap_or(0)
    }

    /// Returns what was found damaged.
    pub fn damage(&self) -> &[String] {
        &self.damage
    }

    /// Returns the tracks that have a name, and the names of the devices.
    #[allow(clippy::type_complexity)]
    pub fn named(&self) -> (Vec<(TrackOf, String)>, Vec<(u32, String)>) {
        let tracks = self.tracks.all().filter(|(_, _, name)| !name.is_empty());
        let devices = self.tracks.devices().iter().map(|(number, name)| (*number, name.clone()));
        (tracks.map(|(_, of, name)| (of, name.to_owned())).collect(), devices.collect())
    }
}
