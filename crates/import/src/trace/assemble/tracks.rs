//! The threads of the host and the streams of devices.

use std::collections::BTreeMap;

use foldhash::HashMap;

use crate::trace::event::Track;

/// What a track is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TrackOf {
    /// A thread of a process.
    Thread { process: u64, thread: u64 },
    /// A stream of a device.
    Stream { device: u32, stream: u64 },
}

/// The tracks of a trace, in the order in which they were first seen.
#[derive(Debug, Default)]
pub(crate) struct Tracks {
    numbers: HashMap<TrackOf, Track>,
    all: Vec<(TrackOf, String)>,
    devices: BTreeMap<u32, String>,
}

impl Tracks {
    /// Returns the number of a track.
    pub fn number(&mut self, of: TrackOf) -> Track {
        let next = Track(self.all.len() as u32);
        *self.numbers.entry(of).or_insert_with(|| {
            self.all.push((of, String::new()));
            next
        })
    }

    /// Names a track.
    pub fn name(&mut self, track: Track, name: &str) {
        if let Some((_, named)) = self.all.get_mut(track.0 as usize) {
            name.clone_into(named);
        }
    }

    /// Names a device.
    pub fn name_device(&mut self, device: u32, name: &str) {
        self.devices.insert(device, name.to_owned());
    }

    /// Returns what a track is.
    pub fn of(&self, track: Track) -> TrackOf {
        self.all[track.0 as usize].0
    }

    /// Returns every track with what it is and its name, which may be empty.
    pub fn all(&self) -> impl Iterator<Item = (Track, TrackOf, &str)> {
        self.all.iter().enumerate().map(|(number, (of, name))| (Track(number as u32), *of, name.as_str()))
    }

    /// Returns the devices that have a name.
    pub fn devices(&self) -> &BTreeMap<u32, String> {
        &self.devices
    }
}
