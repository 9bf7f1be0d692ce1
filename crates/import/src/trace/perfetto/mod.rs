//! Perfetto's format: a sequence of packets, of which one at a time is in memory. Own timelines (`timeline.pftrace`)
//! are read back, and the slices, moments and counters of everyone else's.

mod messages;
mod packets;
mod sequence;
#[cfg(test)]
mod tests;
mod tracks;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

use flate2::bufread::ZlibDecoder;
use prost::Message;

use super::assemble::Assembler;
use super::event::{Event, What};
use crate::ImportError;
use messages::{TracePacket, TrackEvent};
use packets::Next;
use sequence::Sequences;
use tracks::{MOST, Slice, Tracks};

/// The kind under which is counted what is not imported.
const UNREAD: &str = "Perfetto event";

/// Returns whether a file that begins so is one of Perfetto's.
pub(super) fn is_perfetto(head: &[u8]) -> bool {
    let (mut reader, mut buffer) = (head, Vec::new());
    if head.first() != Some(&packets::PACKET) {
        return false;
    }
    match packets::next(&mut reader, &mut buffer) {
        Ok(Next::Packet) => TracePacket::decode(buffer.as_slice()).is_ok(),
        // The first packet is longer than what was looked at.
        Ok(Next::Broken(_)) => head.len() > 1024,
        _ => false,
    }
}

/// Reads a file.
pub(crate) fn read(path: &Path, into: &mut Assembler) -> Result<(), ImportError> {
    let file = opscope_files::open_regular(path).map_err(ImportError::io("read", path))?;
    read_from(BufReader::with_capacity(1 << 20, file), path, into)
}

/// Reads the bytes of a file.
pub(super) fn read_from(mut reader: impl BufRead, path: &Path, into: &mut Assembler) -> Result<(), ImportError> {
    "Perfetto".clone_into(&mut into.about.producer);
    let mut trace = Trace::default();
    trace.packets(&mut reader, path, into, false)?;
    trace.finish(path, into)
}

/// What is known of a file while it is read.
#[derive(Default)]
struct Trace {
    sequences: Sequences,
    tracks: Tracks,
    packets: u64,
    /// The time of the last event.
    last: u64,
    /// How often something was lost, by a sentence that says what.
    lost: BTreeMap<&'static str, u64>,
}

impl Trace {
    fn packets(
        &mut self,
        reader: &mut impl BufRead,
        path: &Path,
        into: &mut Assembler,
        is_inner: bool,
    ) -> Result<(), ImportError> {
        let mut buffer = Vec::new();
        loop {
            let next = match packets::next(reader, &mut buffer) {
                Ok(next) => next,
                // Compressed packets that are damaged, not a file that cannot be read.
                Err(_) if is_inner => Next::Broken("its compressed packets cannot be decompressed"),
                Err(error) => return Err(ImportError::io("read", path)(error)),
            };
            match next {
                Next::End => return Ok(()),
                Next::Packet => {
                    self.packets += 1;
                    self.packet(&buffer, path, into, is_inner)?;
                }
                Next::TooLong(bytes) => {
                    self.packets += 1;
                    let number = self.packets;
                    into.damaged(format!(
                        "{}: packet {number} has {bytes} bytes and is left out; at most {} are read",
                        path.display(),
                        packets::LONGEST
                    ));
                    into.not_imported("damaged packet", "too long");
                }
                Next::Broken(why) => {
                    let (path, packets) = (path.display(), self.packets);
                    into.damaged(format!("{path}: it can be read up to its packet {packets} only: {why}"));
                    return Ok(());
                }
            }
        }
    }

    fn packet(&mut self, bytes: &[u8], path: &Path, into: &mut Assembler, is_inner: bool) -> Result<(), ImportError> {
        if into.cancel().load(std::sync::atomic::Ordering::Relaxed) {
            return Err(ImportError::Cancelled);
        }
        let Ok(mut packet) = TracePacket::decode(bytes) else {
            into.not_imported("damaged packet", "not decodable");
            self.lose("packets cannot be decoded");
            return Ok(());
        };
        if packet.previous_packet_dropped {
            self.lose("times a writer says that it dropped packets");
        }
        if !self.sequences.take(&mut packet) {
            self.lose("packets have more interned text than is kept");
        }
        packets::fields(bytes, |field| {
            if let Some(name) = unread(field) {
                into.not_imported("Perfetto packet", name);
            }
        });
        if let Some(descriptor) = packet.track_descriptor.take()
            && !self.tracks.describe(descriptor, into)
        {
            self.lose("tracks are more than can be kept");
        }
        if let Some(event) = packet.track_event.take() {
            self.event(&packet, event, into)?;
        }
        match packet.compressed_packets.take() {
            // Compressed packets have none within them.
            Some(compressed) if !is_inner => {
                let mut reader = BufReader::new(ZlibDecoder::new(compressed.as_slice()));
                self.packets(&mut reader, path, into, true)
            }
            _ => Ok(()),
        }
    }

    fn event(&mut self, packet: &TracePacket, event: TrackEvent, into: &mut Assembler) -> Result<(), ImportError> {
        let micros = event.timestamp_absolute_us.and_then(|time| u64::try_from(time).ok()?.checked_mul(1000));
        let Some(time) = self.sequences.time(packet).or(micros) else {
            into.not_imported(UNREAD, "without a time that is known");
            return Ok(());
        };
        self.last = self.last.max(time);
        let sequence = self.sequences.of(packet.sequence);
        let uuid = event.track_uuid.or(sequence.default_track).unwrap_or(0);
        let is_full = self.tracks.open >= MOST;
        let Some(track) = self.tracks.get(uuid) else {
            into.not_imported(UNREAD, "on a track that cannot be kept");
            return Ok(());
        };
        match event.kind {
            TrackEvent::SLICE_BEGIN | TrackEvent::INSTANT => {
                let name = match (event.name, event.name_iid) {
                    (Some(name), _) => name.into(),
                    (None, Some(number)) => match sequence.name(number) {
                        Some(name) => name.clone(),
                        None => "slice with a lost name".into(),
                    },
                    (None, None) => "slice without a name".into(),
                };
                if event.kind == TrackEvent::INSTANT {
                    return self.add(uuid, What::Mark, &name, (time, 0), into);
                }
                let interned = event.category_iids.iter().filter_map(|&number| sequence.category(number));
                let what =
                    event.categories.iter().map(String::as_str).chain(interned.map(|name| &**name)).find_map(what_of);
                if is_full {
                    track.left_out += 1;
                    into.not_imported(UNREAD, "slice within too many others");
                    return Ok(());
                }
                track.slices.push(Slice { what: what.unwrap_or(What::Range), name, start: time });
                self.tracks.open += 1;
                Ok(())
            }
            TrackEvent::SLICE_END if track.left_out > 0 => {
                track.left_out -= 1;
                Ok(())
            }
            TrackEvent::SLICE_END => {
                let Some(Slice { what, name, start }) = track.slices.pop() else {
                    into.not_imported(UNREAD, "end of a slice without its begin");
                    return Ok(());
                };
                self.tracks.open -= 1;
                let Some(duration) = time.checked_sub(start) else {
                    into.not_imported(UNREAD, "slice that ends before it begins");
                    return Ok(());
                };
                self.add(uuid, what, &name, (start, duration), into)
            }
            TrackEvent::COUNTER => {
                let value = event.double_counter_value.or(event.counter_value.map(|value| value as f64));
                let Some((counter, value)) = track.counter.as_mut().zip(value) else {
                    into.not_imported(UNREAD, "value without a counter");
                    return Ok(());
                };
                let value = counter.value(value);
                let unit =
                    if counter.unit_name.is_empty() { counter.unit.to_owned() } else { counter.unit_name.clone() };
                into.sample(&self.tracks.counter_name(uuid), &unit, time, value)
            }
            _ => {
                into.not_imported(UNREAD, "of a kind that is not known");
                Ok(())
            }
        }
    }

    fn add(
        &mut self,
        uuid: u64,
        what: What,
        name: &str,
        (start, duration): (u64, u64),
        into: &mut Assembler,
    ) -> Result<(), ImportError> {
        let Some(track) = self.tracks.number(uuid, into) else { return Ok(()) };
        into.add(&Event::new(what, name, track, start, duration))
    }

    fn lose(&mut self, what: &'static str) {
        *self.lost.entry(what).or_default() += 1;
    }

    fn finish(&mut self, path: &Path, into: &mut Assembler) -> Result<(), ImportError> {
        let open = self.tracks.take_open();
        if !open.is_empty() {
            let slices = open.len();
            into.about.notes.push(format!("{slices} slices were open when the trace ended; they end there."));
        }
        for (uuid, Slice { what, name, start }) in open {
            self.add(uuid, what, &name, (start, self.last.saturating_sub(start)), into)?;
        }
        for (what, times) in &self.lost {
            into.damaged(format!("{}: {times} {what}", path.display()));
        }
        into.about.zero_unix_ns = self.sequences.zero_unix_ns;
        Ok(())
    }
}

/// Returns what slices of a category are; `None` for ranges of the user's code. The first ones are those of own
/// timelines, the others PyTorch's.
fn what_of(category: &str) -> Option<What> {
    match category {
        "operator" | "cpu_op" => Some(What::Operator),
        "module" => Some(What::Module),
        "engine_call" | "cuda_runtime" | "cuda_driver" => Some(What::Call),
        _ => None,
    }
}

/// Returns the name of a field of packets with events that are not read.
fn unread(field: u64) -> Option<&'static str> {
    Some(match field {
        1 => "ftrace events",
        2 => "process tree",
        7 => "system statistics",
        9 => "process statistics",
        37 => "heap profile",
        39 => "Android log",
        43 => "process descriptor",
        44 => "thread descriptor",
        52 => "GPU counters",
        53 => "GPU render stages",
        54 => "stack samples",
        66 => "performance samples",
        _ => return None,
    })
}
