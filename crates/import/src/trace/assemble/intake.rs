//! Takes what the readers hand over.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::names::Names;
use super::tracks::{TrackOf, Tracks};
use crate::ImportError;
use crate::trace::event::{Event, Track};

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
    names: Names,
    tracks: Tracks,
    /// By kind and name.
    not_imported: BTreeMap<(String, String), u64>,
    damage: Vec<String>,
    cancel: Arc<AtomicBool>,
    /// What was handed over, for the tests of the readers.
    #[cfg(test)]
    pub taken: super::taken::Taken,
}

impl Assembler {
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
        if self.cancel.load(Ordering::Relaxed) {
            return Err(ImportError::Cancelled);
        }
        #[cfg(test)]
        self.taken.add(self.tracks.of(event.track), event);
        let _ = (self.names.number(event.name), event);
        Ok(())
    }

    /// Takes the value of a counter.
    pub fn sample(&mut self, counter: &str, unit: &str, at: u64, value: f64) -> Result<(), ImportError> {
        #[cfg(test)]
        self.taken.sample(counter, unit, at, value);
        let _ = (counter, unit, at, value);
        Ok(())
    }

    /// Counts an event that has no place in a recording.
    pub fn not_imported(&mut self, kind: &str, name: &str) {
        self.not_imported_times(kind, name, 1);
    }

    /// Counts events of one kind and name that have no place in a recording.
    pub fn not_imported_times(&mut self, kind: &str, name: &str, times: u64) {
        if times > 0 {
            *self.not_imported.entry((kind.to_owned(), name.to_owned())).or_default() += times;
        }
    }

    /// Notes that the file is damaged: a sentence that says where, and what was lost. What could be read is imported.
    pub fn damaged(&mut self, sentence: impl Into<String>) {
        self.damage.push(sentence.into());
    }

    /// Begins a trace of which sorted parts lie in this directory while it is put together.
    pub fn new(_scratch: &Path, cancel: Arc<AtomicBool>) -> Self {
        Self {
            about: About::default(),
            names: Names::default(),
            tracks: Tracks::default(),
            not_imported: BTreeMap::new(),
            damage: Vec::new(),
            cancel,
            #[cfg(test)]
            taken: super::taken::Taken::default(),
        }
    }
}

/// What the tests of the readers look at.
#[cfg(test)]
impl Assembler {
    /// Returns how many events were counted as not imported, by kind and name.
    pub fn not_imported_of(&self, kind: &str, name: &str) -> u64 {
        self.not_imported.get(&(kind.to_owned(), name.to_owned())).copied().unwrap_or(0)
    }

    /// Returns all that was counted as not imported.
    pub fn all_not_imported(&self) -> &BTreeMap<(String, String), u64> {
        &self.not_imported
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
