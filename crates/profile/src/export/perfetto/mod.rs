//! Perfetto's format: a sequence of `TracePacket`s.

mod messages;

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use opscope_clock::{Calibration, Ticks};
use opscope_trace::MarkerOperation;
use prost::encoding;

use super::labels::{KernelLabels, LabelTable, correlation_notes, counter_title, path_text, side_title, thread_title};
use super::nesting::Nesting;
use super::{Excerpt, ExportError};
use crate::Recording;
use crate::account::spread::TensorMemorySums;
use crate::recording::{
    AllocationFact, Appearance, Item, MarkerFact, Note, RunFact, RunGroup, SampleFact, Slice, Span, run_label,
};
use messages::{
    Clock, ClockSnapshot, CounterDescriptor, DebugAnnotation, EventType, InternedData, InternedText, ProcessDescriptor,
    ThreadDescriptor, TracePacket, TrackDescriptor, TrackEvent,
};

/// The field of `Trace` that contains the packets.
const PACKET: u32 = 1;

/// All packets come from one writer.
const SEQUENCE: u32 = 1;

/// The kinds of tracks. The low half of a track's number is that of a thread or a counter.
const PROCESS_TRACK: u64 = 1;
const THREAD_TRACKS: u64 = 1 << 32;
const COUNTER_TRACKS: u64 = 4 << 32;
const CROSSING_TRACKS: u64 = 5 << 32;
const MEMORY_TRACKS: u64 = 6 << 32;

/// Returns the high half of the numbers of side tracks of this kind.
const fn side_tracks(sort: u64) -> u64 {
    // The first two kinds are older than the tracks of counters, so the other kinds are numbered after those.
    (if sort <= 2 { 1 + sort } else { 4 + sort }) << 32
}

/// Writes the packets. Dispatches are slices within their run's slice.
pub(super) fn write(excerpt: &Excerpt<'_>, into: &mut dyn Write) -> Result<(), ExportError> {
    let recording = excerpt.recording();
    let mut trace = Trace::new(excerpt, into);
    let mut labels = LabelTable::new(recording.names());
    trace.begin()?;
    for item in excerpt.items()? {
        match item? {
            Item::Run(group) => trace.run(&group, &mut labels)?,
            Item::Other(fact) => match fact.appearance() {
                Appearance::Slice(slice) => trace.side_slice(&slice)?,
                Appearance::Counter(sample) => trace.sample(sample)?,
                Appearance::Memory(allocation) => trace.allocation(allocation)?,
                Appearance::Marker(marker) => trace.marker(marker)?,
                Appearance::Nothing => {}
                Appearance::InRun => unreachable!("grouped into runs"),
            },
        }
    }
    Ok(())
}

struct Trace<'a> {
    excerpt: &'a Excerpt<'a>,
    recording: &'a Recording,
    into: &'a mut dyn Write,
    /// The bytes of a packet before it is written.
    bytes: Vec<u8>,
    calibration: &'a Calibration,
    tracks: HashSet<u64>,
    texts: HashMap<(Texts, String), u64>,
    /// The part of a dispatch's event that is the same in every run, by kernel.
    kernels: HashMap<(u64, u32), TrackEvent>,
    nesting: Nesting,
    /// How many ranges crossed others.
    crossing: u64,
    memory: TensorMemorySums,
}

/// The kinds of interned texts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Texts {
    Categories,
    EventNames,
    AnnotationNames,
    AnnotationStrings,
}

impl<'a> Trace<'a> {
    fn new(excerpt: &'a Excerpt<'a>, into: &'a mut dyn Write) -> Self {
        let recording = excerpt.recording();
        Self {
            excerpt,
            recording,
            into,
            bytes: Vec::new(),
            calibration: recording.calibration(),
            tracks: HashSet::new(),
            texts: HashMap::new(),
            kernels: HashMap::new(),
            nesting: Nesting::default(),
            crossing: 0,
            memory: TensorMemorySums::default(),
        }
    }

    fn begin(&mut self) -> io::Result<()> {
        let manifest = self.recording.manifest();
        let start = manifest.clock.start.boottime_ns;
        let snapshot = ClockSnapshot {
            clocks: vec![
                Clock { clock_id: Clock::BOOTTIME, timestamp: start },
                Clock { clock_id: Clock::REALTIME, timestamp: manifest.clock.start_unix_ns },
            ],
            primary_trace_clock: Clock::BOOTTIME,
        };
        self.packet(TracePacket {
            timestamp: Some(start),
            clock_snapshot: Some(snapshot),
            sequence_flags: TracePacket::INCREMENTAL_STATE_CLEARED,
            ..TracePacket::default()
        })?;

        let engine = &manifest.engine;
        let mut process_labels = vec![format!("{} {}, {}", engine.name, engine.version, engine.fidelity)];
        if !self.recording.is_complete() {
            process_labels.push("incomplete".to_owned());
        }
        process_labels.extend(self.excerpt.shown_runs().map(|shown| format!("shows {shown}")));
        let process = ProcessDescriptor {
            pid: manifest.process.pid,
            cmdline: vec![manifest.process.name.clone()],
            process_name: format!("{} {}", manifest.process.name, manifest.model.path),
            process_labels,
        };
        self.descriptor(TrackDescriptor { uuid: PROCESS_TRACK, process: Some(process), ..TrackDescriptor::default() })
    }

    fn run(&mut self, group: &RunGroup, labels: &mut LabelTable<'_>) -> io::Result<()> {
        let opened = match &group.record {
            Some(run) => Some(self.begin_run(run)?),
            None => None,
        };
        for dispatch in &group.dispatches {
            let run = self.uint_note("run", dispatch.run)?;
            let track = self.thread_track(dispatch.thread)?;
            let key = (dispatch.plan, dispatch.kernel);
            let mut event = match self.kernels.remove(&key) {
                Some(event) => event,
                None => self.kernel(&labels.get(dispatch.plan, dispatch.kernel))?,
            };
            let of_kernel = event.debug_annotations.len();
            event.debug_annotations.push(run);
            if !dispatch.path.is_empty() {
                // Paths are not interned, because nearly every dispatch in a loop has a different one.
                let string_value = Some(path_text(self.recording, dispatch));
                event.debug_annotations.push(DebugAnnotation { string_value, ..self.note("path")? });
            }
            let mut event = self.slice(track, dispatch.span, event)?;
            event.debug_annotations.truncate(of_kernel);
            self.kernels.insert(key, event);
        }
        match (opened, &group.record) {
            (Some(track), Some(run)) => self.event(run.span.end, EventType::SliceEnd, track, TrackEvent::default()),
            _ => Ok(()),
        }
    }

    fn begin_run(&mut self, run: &RunFact) -> io::Result<u64> {
        self.nesting.place(run.thread, self.recording.nanos_since_boot(run.span));
        let track = self.thread_track(run.thread)?;
        let mut event = self.title("run", run_label(run.kind))?;
        event.debug_annotations = vec![
            self.uint_note("run", run.run)?,
            self.uint_note("plan", run.plan)?,
            DebugAnnotation { bool_value: Some(run.failed), ..self.note("failed")? },
        ];
        if let Some(reason) = self.excerpt.reason(run.run) {
            let string_value_iid = Some(self.text(Texts::AnnotationStrings, reason.text())?);
            let note = self.note("shown_because")?;
            event.debug_annotations.push(DebugAnnotation { string_value_iid, ..note });
        }
        for (name, id) in correlation_notes(run.correlation) {
            event.debug_annotations.push(self.uint_note(name, id)?);
        }
        self.event(run.span.start, EventType::SliceBegin, track, event)?;
        Ok(track)
    }

    fn kernel(&mut self, label: &KernelLabels) -> io::Result<TrackEvent> {
        let mut event = self.title("operator", &label.title)?;
        for (name, text) in label.notes() {
            let note = self.note(name)?;
            let string_value_iid = Some(self.text(Texts::AnnotationStrings, &text)?);
            event.debug_annotations.push(DebugAnnotation { string_value_iid, ..note });
        }
        Ok(event)
    }

    fn side_slice(&mut self, slice: &Slice) -> io::Result<()> {
        let uuid = side_tracks(slice.track.number) | u64::from(slice.thread);
        let track = self.side_track(uuid, slice.thread, slice.track.title)?;
        let mut event = self.title(slice.category, slice.title)?;
        for (name, note) in &slice.notes {
            let note = match note {
                Note::Number(number) => self.uint_note(name, *number)?,
                Note::True => DebugAnnotation { bool_value: Some(true), ..self.note(name)? },
                Note::Missing => continue,
            };
            event.debug_annotations.push(note);
        }
        self.slice(track, slice.span, event).map(drop)
    }

    fn sample(&mut self, sample: &SampleFact) -> io::Result<()> {
        let uuid = COUNTER_TRACKS | u64::from(sample.counter);
        self.counter(uuid, sample.at, sample.value, |recording| {
            let (name, unit) = counter_title(recording, sample.counter);
            (name, unit.to_owned())
        })
    }

    fn allocation(&mut self, allocation: &AllocationFact) -> io::Result<()> {
        let bytes = self.memory.add(allocation) as f64;
        self.counter(MEMORY_TRACKS | u64::from(allocation.thread), allocation.at, bytes, |recording| {
            (side_title(recording, "tensor memory", allocation.thread), "bytes".to_owned())
        })
    }

    /// Writes a value of a counter, whose track has a name and a unit.
    fn counter(
        &mut self,
        uuid: u64,
        at: Ticks,
        value: f64,
        title: impl FnOnce(&Recording) -> (String, String),
    ) -> io::Result<()> {
        if self.tracks.insert(uuid) {
            let (name, unit_name) = title(self.recording);
            let (parent_uuid, counter) = (PROCESS_TRACK, Some(CounterDescriptor { unit_name }));
            self.descriptor(TrackDescriptor { uuid, name, parent_uuid, counter, ..TrackDescriptor::default() })?;
        }
        let event = TrackEvent { double_counter_value: Some(value), ..TrackEvent::default() };
        self.event(at, EventType::Counter, uuid, event)
    }

    /// Writes a range on its thread's track, or on a track of its own if it crosses another range.
    fn marker(&mut self, marker: &MarkerFact) -> io::Result<()> {
        let mut event = self.title("marker", &self.recording.marker_name(marker.name))?;
        if marker.operation == MarkerOperation::OpenRange {
            let note = DebugAnnotation { bool_value: Some(true), ..self.note("open_at_the_end")? };
            event.debug_annotations.push(note);
        }
        if marker.operation == MarkerOperation::Mark {
            let track = self.thread_track(marker.thread)?;
            return self.event(marker.span.start, EventType::Instant, track, event);
        }
        let (start, end) = self.recording.nanos_since_boot(marker.span);
        let (track, shown) = match self.nesting.place(marker.thread, (start, end)) {
            Some(shown) => (self.thread_track(marker.thread)?, shown),
            None => {
                self.crossing += 1;
                let track = self.side_track(CROSSING_TRACKS | self.crossing, marker.thread, "crossing ranges")?;
                (track, start)
            }
        };
        self.event_at(shown, EventType::SliceBegin, track, event)?;
        self.event_at(end, EventType::SliceEnd, track, TrackEvent::default()).map(drop)
    }

    fn thread_track(&mut self, tid: u32) -> io::Result<u64> {
        let uuid = THREAD_TRACKS | u64::from(tid);
        if self.tracks.insert(uuid) {
            let thread_name = thread_title(self.recording, tid);
            let thread = Some(ThreadDescriptor { pid: self.recording.manifest().process.pid, tid, thread_name });
            let parent_uuid = PROCESS_TRACK;
            self.descriptor(TrackDescriptor { uuid, parent_uuid, thread, ..TrackDescriptor::default() })?;
        }
        Ok(uuid)
    }

    /// Returns a side track, for slices that overlap with runs.
    fn side_track(&mut self, uuid: u64, tid: u32, what: &str) -> io::Result<u64> {
        if self.tracks.insert(uuid) {
            let (name, parent_uuid) = (side_title(self.recording, what, tid), PROCESS_TRACK);
            self.descriptor(TrackDescriptor { uuid, name, parent_uuid, ..TrackDescriptor::default() })?;
        }
        Ok(uuid)
    }

    fn title(&mut self, category: &str, name: &str) -> io::Result<TrackEvent> {
        Ok(TrackEvent {
            category_iids: vec![self.text(Texts::Categories, category)?],
            name_iid: self.text(Texts::EventNames, name)?,
            ..TrackEvent::default()
        })
    }

    fn note(&mut self, name: &str) -> io::Result<DebugAnnotation> {
        Ok(DebugAnnotation { name_iid: self.text(Texts::AnnotationNames, name)?, ..DebugAnnotation::default() })
    }

    fn uint_note(&mut self, name: &str, value: u64) -> io::Result<DebugAnnotation> {
        Ok(DebugAnnotation { uint_value: Some(value), ..self.note(name)? })
    }

    /// Returns the number of a text. The text is written before its first use.
    fn text(&mut self, texts: Texts, text: &str) -> io::Result<u64> {
        let iid = self.texts.len() as u64 + 1;
        if let Some(known) = self.texts.get(&(texts, text.to_owned())) {
            return Ok(*known);
        }
        self.texts.insert((texts, text.to_owned()), iid);
        let mut data = InternedData::default();
        let table = match texts {
            Texts::Categories => &mut data.event_categories,
            Texts::EventNames => &mut data.event_names,
            Texts::AnnotationNames => &mut data.debug_annotation_names,
            Texts::AnnotationStrings => &mut data.debug_annotation_string_values,
        };
        table.push(InternedText { iid, text: text.to_owned() });
        self.packet(TracePacket {
            sequence_flags: TracePacket::NEEDS_INCREMENTAL_STATE,
            interned_data: Some(data),
            ..TracePacket::default()
        })?;
        Ok(iid)
    }

    /// Writes both ends of a slice, and returns the event.
    fn slice(&mut self, track: u64, span: Span, event: TrackEvent) -> io::Result<TrackEvent> {
        let event = self.event_at(self.nanos(span.start), EventType::SliceBegin, track, event)?;
        self.event(span.end, EventType::SliceEnd, track, TrackEvent::default())?;
        Ok(event)
    }

    fn event(&mut self, at: Ticks, kind: EventType, track: u64, event: TrackEvent) -> io::Result<()> {
        self.event_at(self.nanos(at), kind, track, event).map(drop)
    }

    fn nanos(&self, at: Ticks) -> u64 {
        self.calibration.timestamp(at).as_nanos()
    }

    /// Writes an event at a moment in nanoseconds since boot, and returns it.
    fn event_at(&mut self, at: u64, kind: EventType, track: u64, event: TrackEvent) -> io::Result<TrackEvent> {
        let packet = self.packet(TracePacket {
            timestamp: Some(at),
            sequence_flags: TracePacket::NEEDS_INCREMENTAL_STATE,
            track_event: Some(TrackEvent { r#type: kind.into(), track_uuid: track, ..event }),
            ..TracePacket::default()
        })?;
        Ok(packet.track_event.unwrap_or_default())
    }

    fn descriptor(&mut self, descriptor: TrackDescriptor) -> io::Result<()> {
        self.packet(TracePacket { track_descriptor: Some(descriptor), ..TracePacket::default() }).map(drop)
    }

    /// Writes a packet, and returns it.
    fn packet(&mut self, packet: TracePacket) -> io::Result<TracePacket> {
        let packet = TracePacket { trusted_packet_sequence_id: SEQUENCE, ..packet };
        self.bytes.clear();
        encoding::message::encode(PACKET, &packet, &mut self.bytes);
        self.into.write_all(&self.bytes)?;
        Ok(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracks_of_different_kinds_have_different_numbers() {
        assert_eq!([1, 2, 3, 4].map(side_tracks), [2 << 32, 3 << 32, 7 << 32, 8 << 32]);
        let others = [PROCESS_TRACK, THREAD_TRACKS, COUNTER_TRACKS, CROSSING_TRACKS, MEMORY_TRACKS];
        let all: HashSet<u64> = others.into_iter().chain((1..=16).map(side_tracks)).collect();
        assert_eq!(all.len(), 21);
    }
}
