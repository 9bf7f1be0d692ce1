//! The numbers of threads in a recording, and of devices' streams, which stand there as threads.

use foldhash::HashSet;

use super::tracks::{TrackOf, Tracks};

/// Above every number of a thread of Linux.
const OTHERS_FROM: u32 = 1 << 22;
/// Streams come after threads whose own number could not be kept. Timelines need numbers below 2^24.
const STREAMS_FROM: u32 = 1 << 23;

/// The numbers by tracks.
pub(super) struct Threads {
    numbers: Vec<u32>,
    devices: Vec<u32>,
    names: Vec<(u32, String)>,
}

impl Threads {
    /// Numbers the tracks. A thread keeps the system's number where no other has it. A stream is called
    /// `cuda:0 stream 7`, where `cuda` is `kind`.
    pub fn new(tracks: &Tracks, kind: &str) -> Self {
        let mut threads = Self { numbers: Vec::new(), devices: Vec::new(), names: Vec::new() };
        let mut taken = HashSet::default();
        for (track, of, name) in tracks.all() {
            let (number, device, name) = match of {
                TrackOf::Thread { thread, .. } => {
                    let own = u32::try_from(thread).ok().filter(|own| *own < OTHERS_FROM && taken.insert(*own));
                    let number = own.unwrap_or(OTHERS_FROM + track.0 % (STREAMS_FROM - OTHERS_FROM));
                    let name = match (name, own) {
                        ("", Some(_)) => String::new(),
                        ("", None) => format!("thread {thread}"),
                        _ => name.to_owned(),
                    };
                    (number, 0, name)
                }
                TrackOf::Stream { device, stream } => {
                    let number = STREAMS_FROM + track.0 % STREAMS_FROM;
                    let name = match name {
                        "" => format!("{} stream {stream}", device_name(kind, device)),
                        _ => format!("{} {name}", device_name(kind, device)),
                    };
                    (number, device.saturating_add(1), name)
                }
            };
            threads.numbers.push(number);
            threads.devices.push(device);
            if !name.is_empty() {
                threads.names.push((number, name));
            }
        }
        threads
    }

    pub fn number(&self, track: u32) -> u32 {
        self.numbers[track as usize]
    }

    /// Returns the number of a track's device: 0 is the host.
    pub fn device(&self, track: u32) -> u32 {
        self.devices[track as usize]
    }

    /// Returns every thread that has a name.
    pub fn named(&self) -> impl Iterator<Item = (u32, &str)> {
        self.names.iter().map(|(number, name)| (*number, name.as_str()))
    }
}

/// Returns what a device is called: `cuda:0`.
pub(super) fn device_name(kind: &str, device: u32) -> String {
    format!("{kind}:{device}")
}
