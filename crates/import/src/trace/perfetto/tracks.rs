//! The tracks of a file, and the slices that are open on each.

use std::sync::Arc;

use foldhash::HashMap;

use super::messages::{CounterDescriptor, TrackDescriptor};
use crate::trace::assemble::Assembler;
use crate::trace::event::{Track, What};

/// The most tracks of a file, and the most slices that are open at a time.
pub(super) const MOST: usize = 1 << 20;
/// Tracks that are no threads are numbered from here on among the threads of their process.
const BESIDE_THREADS: u64 = 1 << 32;

/// The tracks.
#[derive(Default)]
pub(super) struct Tracks {
    all: HashMap<u64, OneTrack>,
    unnamed: u64,
    /// The slices that are open, on all tracks.
    pub open: usize,
}

/// A track.
#[derive(Default)]
pub(super) struct OneTrack {
    /// The track in the recording, once something is on it.
    number: Option<Track>,
    parent: u64,
    name: String,
    process: Option<u64>,
    thread: Option<u64>,
    pub counter: Option<Counter>,
    pub slices: Vec<Slice>,
    /// The slices that were left out within the last of those, whose ends come first.
    pub left_out: u64,
}

/// What the values of a counter are.
pub(super) struct Counter {
    pub unit: &'static str,
    pub unit_name: String,
    multiplier: f64,
    is_incremental: bool,
    sum: f64,
}

/// A slice that is open.
pub(super) struct Slice {
    pub what: What,
    pub name: Arc<str>,
    pub start: u64,
}

impl Tracks {
    /// Takes the description of a track. Returns false if there are too many.
    pub fn describe(&mut self, told: TrackDescriptor, into: &mut Assembler) -> bool {
        let uuid = told.uuid.unwrap_or(0);
        let Some(track) = self.get(uuid) else { return false };
        track.parent = told.parent_uuid;
        for name in [told.static_name, told.name] {
            if !name.is_empty() {
                track.name = name;
            }
        }
        if let Some(process) = told.process {
            track.process = Some(process.pid as u64);
            if into.about.process == 0 {
                into.about.process = process.pid as u32;
                into.about.program = process.process_name;
            }
        }
        if let Some(thread) = told.thread {
            (track.process, track.thread) = (Some(thread.pid as u64), Some(thread.tid as u64));
            if !thread.thread_name.is_empty() {
                track.name = thread.thread_name;
            }
        }
        if let Some(counter) = told.counter {
            track.counter = Some(Counter::new(counter));
        }
        if let Some(number) = track.number
            && !track.name.is_empty()
        {
            into.name_track(number, &track.name);
        }
        true
    }

    /// Returns a track. `None` if there are too many.
    pub fn get(&mut self, uuid: u64) -> Option<&mut OneTrack> {
        if self.all.len() >= MOST && !self.all.contains_key(&uuid) {
            return None;
        }
        Some(self.all.entry(uuid).or_default())
    }

    /// Returns a track's number in the recording. A track that is no thread is on one of its own.
    pub fn number(&mut self, uuid: u64, into: &mut Assembler) -> Option<Track> {
        if let Some(number) = self.get(uuid)?.number {
            return Some(number);
        }
        let process = self.process_of(uuid);
        let track = self.all.get_mut(&uuid)?;
        let thread = track.thread.unwrap_or_else(|| {
            self.unnamed += 1;
            BESIDE_THREADS + self.unnamed - 1
        });
        let number = into.thread(process, thread);
        track.number = Some(number);
        if !track.name.is_empty() {
            into.name_track(number, &track.name);
        }
        Some(number)
    }

    /// Returns the name of a counter, with that of its process or thread if there are several.
    pub fn counter_name(&self, uuid: u64) -> String {
        let Some(track) = self.all.get(&uuid) else { return "counter".to_owned() };
        match track.name.as_str() {
            "" => "counter".to_owned(),
            name => name.to_owned(),
        }
    }

    /// Hands over every slice that is still open.
    pub fn take_open(&mut self) -> Vec<(u64, Slice)> {
        self.open = 0;
        let mut uuids: Vec<u64> = self.all.keys().copied().collect();
        uuids.sort_unstable();
        let mut open = Vec::new();
        for uuid in uuids {
            let slices = self.all.get_mut(&uuid).map(|track| std::mem::take(&mut track.slices)).unwrap_or_default();
            open.extend(slices.into_iter().map(|slice| (uuid, slice)));
        }
        open
    }

    /// Returns the process of a track: its own, or that of the nearest track above it.
    fn process_of(&self, uuid: u64) -> u64 {
        let mut uuid = uuid;
        // A file may have a circle of tracks.
        for _ in 0..16 {
            match self.all.get(&uuid) {
                Some(OneTrack { process: Some(process), .. }) => return *process,
                Some(track) if track.parent != 0 => uuid = track.parent,
                _ => break,
            }
        }
        0
    }
}

impl Counter {
    fn new(told: CounterDescriptor) -> Self {
        let unit = match told.unit {
            1 => "ns",
            2 => "count",
            3 => "bytes",
            _ => "",
        };
        let multiplier = told.unit_multiplier.max(1) as f64;
        Self { unit, unit_name: told.unit_name, multiplier, is_incremental: told.is_incremental, sum: 0.0 }
    }

    /// Returns the value that a number of the file means.
    pub fn value(&mut self, told: f64) -> f64 {
        let value = told * self.multiplier;
        if !self.is_incremental {
            return value;
        }
        self.sum += value;
        self.sum
    }
}
