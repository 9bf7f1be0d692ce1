//! Perfetto's format: a sequence of `TracePacket`s. The field numbers are those of
//! <https://android.googlesource.com/platform/external/perfetto/+/refs/heads/main/protos/perfetto/trace/>.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use opscope_clock::{Calibration, Ticks};

use super::ExportError;
use super::labels::{KernelLabels, LabelTable, counter_title, side_title, thread_title};
use super::nesting::Nesting;
use super::protobuf::Message;
use crate::Recording;
use crate::recording::{CallFact, CopyFact, Fact, Item, MarkerFact, RunFact, RunGroup, SampleFact, Span};

/// `Trace`.
const PACKET: u64 = 1;

mod packet {
    pub const CLOCK_SNAPSHOT: u64 = 6;
    pub const TIMESTAMP: u64 = 8;
    pub const SEQUENCE_ID: u64 = 10;
    pub const TRACK_EVENT: u64 = 11;
    pub const INTERNED_DATA: u64 = 12;
    pub const SEQUENCE_FLAGS: u64 = 13;
    pub const TRACK_DESCRIPTOR: u64 = 60;
}

mod event {
    pub const CATEGORY_IIDS: u64 = 3;
    pub const DEBUG_ANNOTATIONS: u64 = 4;
    pub const TYPE: u64 = 9;
    pub const NAME_IID: u64 = 10;
    pub const TRACK_UUID: u64 = 11;
    pub const DOUBLE_COUNTER_VALUE: u64 = 44;
    pub const SLICE_BEGIN: u64 = 1;
    pub const SLICE_END: u64 = 2;
    pub const INSTANT: u64 = 3;
    pub const COUNTER: u64 = 4;
}

mod annotation {
    pub const NAME_IID: u64 = 1;
    pub const BOOL: u64 = 2;
    pub const UINT: u64 = 3;
    pub const STRING_IID: u64 = 17;
}

mod interned {
    pub const CATEGORIES: u64 = 1;
    pub const EVENT_NAMES: u64 = 2;
    pub const ANNOTATION_NAMES: u64 = 3;
    pub const ANNOTATION_STRINGS: u64 = 29;
    /// In each of them.
    pub const IID: u64 = 1;
    pub const TEXT: u64 = 2;
}

mod track {
    pub const UUID: u64 = 1;
    pub const NAME: u64 = 2;
    pub const PROCESS: u64 = 3;
    pub const THREAD: u64 = 4;
    pub const PARENT_UUID: u64 = 5;
    pub const COUNTER: u64 = 8;
    pub const PROCESS_PID: u64 = 1;
    pub const PROCESS_CMDLINE: u64 = 2;
    pub const PROCESS_NAME: u64 = 6;
    pub const PROCESS_LABELS: u64 = 8;
    pub const THREAD_PID: u64 = 1;
    pub const THREAD_TID: u64 = 2;
    pub const THREAD_NAME: u64 = 5;
    pub const COUNTER_UNIT_NAME: u64 = 6;
}

mod clock {
    pub const CLOCKS: u64 = 1;
    pub const PRIMARY: u64 = 2;
    pub const ID: u64 = 1;
    pub const TIMESTAMP: u64 = 2;
    pub const REALTIME: u64 = 1;
    pub const BOOTTIME: u64 = 6;
}

const INCREMENTAL_STATE_CLEARED: u64 = 1;
const NEEDS_INCREMENTAL_STATE: u64 = 2;

/// All packets come from one writer.
const SEQUENCE: u64 = 1;

/// Tracks by what they show; the low half of a track's number is a thread or a counter.
const PROCESS_TRACK: u64 = 1;
const THREAD_TRACKS: u64 = 1 << 32;
const CALL_TRACKS: u64 = 2 << 32;
const COPY_TRACKS: u64 = 3 << 32;
const COUNTER_TRACKS: u64 = 4 << 32;
const CROSSING_TRACKS: u64 = 5 << 32;

/// Writes the packets. Dispatches are slices within their run's slice.
pub(super) fn write(recording: &Recording, into: &mut dyn Write) -> Result<(), ExportError> {
    let mut trace = Trace::new(recording, into);
    let mut labels = LabelTable::new(recording.names());
    trace.begin()?;
    for item in recording.groups()? {
        match item? {
            Item::Run(group) => trace.run(&group, &mut labels)?,
            Item::Other(Fact::Call(call)) => trace.call(&call)?,
            Item::Other(Fact::Copy(copy)) => trace.copy(&copy)?,
            Item::Other(Fact::Sample(sample)) => trace.sample(&sample)?,
            Item::Other(Fact::Marker(marker)) => trace.marker(&marker)?,
            Item::Other(Fact::Run(_) | Fact::Dispatch(_)) => unreachable!("grouped into runs"),
        }
    }
    Ok(())
}

struct Trace<'a> {
    recording: &'a Recording,
    into: &'a mut dyn Write,
    calibration: &'a Calibration,
    tracks: HashSet<u64>,
    texts: HashMap<(u64, String), u64>,
    /// The part of a dispatch's event that is the same in every run.
    kernels: HashMap<(u64, u32), Message>,
    nesting: Nesting,
    /// How many ranges crossed others.
    crossing: u64,
}

impl<'a> Trace<'a> {
    fn new(recording: &'a Recording, into: &'a mut dyn Write) -> Self {
        Self {
            recording,
            into,
            calibration: recording.calibration(),
            tracks: HashSet::new(),
            texts: HashMap::new(),
            kernels: HashMap::new(),
            nesting: Nesting::default(),
            crossing: 0,
        }
    }

    fn begin(&mut self) -> io::Result<()> {
        let manifest = self.recording.manifest();
        let reading = |id, time| {
            let mut message = Message::default();
            message.uint(clock::ID, id).uint(clock::TIMESTAMP, time);
            message
        };
        let start = manifest.clock.start.boottime_ns;
        let mut snapshot = Message::default();
        snapshot
            .message(clock::CLOCKS, &reading(clock::BOOTTIME, start))
            .message(clock::CLOCKS, &reading(clock::REALTIME, manifest.clock.start_unix_ns))
            .uint(clock::PRIMARY, clock::BOOTTIME);
        let mut packet = Message::default();
        packet
            .uint(packet::TIMESTAMP, start)
            .message(packet::CLOCK_SNAPSHOT, &snapshot)
            .uint(packet::SEQUENCE_ID, SEQUENCE)
            .uint(packet::SEQUENCE_FLAGS, INCREMENTAL_STATE_CLEARED);
        self.packet(&packet)?;

        let engine = &manifest.engine;
        let mut process = Message::default();
        process
            .uint(track::PROCESS_PID, u64::from(manifest.process.pid))
            .text(track::PROCESS_CMDLINE, &manifest.process.name)
            .text(track::PROCESS_NAME, format!("{} {}", manifest.process.name, manifest.model.path))
            .text(track::PROCESS_LABELS, format!("{} {}, {}", engine.name, engine.version, engine.fidelity));
        if !self.recording.is_complete() {
            process.text(track::PROCESS_LABELS, "incomplete");
        }
        let mut descriptor = Message::default();
        descriptor.uint(track::UUID, PROCESS_TRACK).message(track::PROCESS, &process);
        self.descriptor(&descriptor)
    }

    fn run(&mut self, group: &RunGroup, labels: &mut LabelTable<'_>) -> io::Result<()> {
        let opened = match &group.record {
            Some(run) => Some(self.begin_run(run)?),
            None => None,
        };
        for dispatch in &group.dispatches {
            let key = (dispatch.plan, dispatch.kernel);
            if !self.kernels.contains_key(&key) {
                let fields = self.kernel(&labels.get(dispatch.plan, dispatch.kernel))?;
                self.kernels.insert(key, fields);
            }
            let run = self.uint_note("run", dispatch.run)?;
            let track = self.thread_track(dispatch.thread)?;
            let mut fields = self.kernels[&key].clone();
            fields.message(event::DEBUG_ANNOTATIONS, &run);
            self.slice(track, dispatch.span, &fields)?;
        }
        match (opened, &group.record) {
            (Some(track), Some(run)) => self.event(run.span.end, event::SLICE_END, track, &Message::default()),
            _ => Ok(()),
        }
    }

    fn begin_run(&mut self, run: &RunFact) -> io::Result<u64> {
        self.nesting.place(run.thread, self.recording.nanos_since_boot(run.span));
        let track = self.thread_track(run.thread)?;
        let mut fields = self.title("run", if run.warm_up { "warm-up run" } else { "run" })?;
        fields
            .message(event::DEBUG_ANNOTATIONS, &self.uint_note("run", run.run)?)
            .message(event::DEBUG_ANNOTATIONS, &self.uint_note("plan", run.plan)?)
            .message(event::DEBUG_ANNOTATIONS, &self.bool_note("failed", run.failed)?);
        self.event(run.span.start, event::SLICE_BEGIN, track, &fields)?;
        Ok(track)
    }

    fn kernel(&mut self, label: &KernelLabels) -> io::Result<Message> {
        let mut fields = self.title("operator", &label.title)?;
        for (name, text) in label.notes() {
            let mut note = Message::default();
            note.uint(annotation::NAME_IID, self.text(interned::ANNOTATION_NAMES, name)?)
                .uint(annotation::STRING_IID, self.text(interned::ANNOTATION_STRINGS, &text)?);
            fields.message(event::DEBUG_ANNOTATIONS, &note);
        }
        Ok(fields)
    }

    fn call(&mut self, call: &CallFact) -> io::Result<()> {
        let track = self.side_track(CALL_TRACKS | u64::from(call.thread), call.thread, "engine calls")?;
        let mut fields = self.title("engine_call", call.call.name())?;
        if let Some(run) = call.run {
            fields.message(event::DEBUG_ANNOTATIONS, &self.uint_note("run", run)?);
        }
        self.slice(track, call.span, &fields)
    }

    fn copy(&mut self, copy: &CopyFact) -> io::Result<()> {
        let track = self.side_track(COPY_TRACKS | u64::from(copy.thread), copy.thread, "copies")?;
        let mut fields = self.title("copy", copy.direction.name())?;
        fields
            .message(event::DEBUG_ANNOTATIONS, &self.uint_note("run", copy.run)?)
            .message(event::DEBUG_ANNOTATIONS, &self.uint_note("bytes", copy.bytes)?);
        self.slice(track, copy.span, &fields)
    }

    fn sample(&mut self, sample: &SampleFact) -> io::Result<()> {
        let uuid = COUNTER_TRACKS | u64::from(sample.counter);
        if self.tracks.insert(uuid) {
            let (name, unit) = counter_title(self.recording, sample.counter);
            let mut counter = Message::default();
            if !unit.is_empty() {
                counter.text(track::COUNTER_UNIT_NAME, unit);
            }
            let mut descriptor = Message::default();
            descriptor
                .uint(track::UUID, uuid)
                .text(track::NAME, name)
                .uint(track::PARENT_UUID, PROCESS_TRACK)
                .message(track::COUNTER, &counter);
            self.descriptor(&descriptor)?;
        }
        let mut fields = Message::default();
        fields.double(event::DOUBLE_COUNTER_VALUE, sample.value);
        self.event(sample.at, event::COUNTER, uuid, &fields)
    }

    /// Returns a range lies on its thread's track; one that crosses another there has a track of its own.
    fn marker(&mut self, marker: &MarkerFact) -> io::Result<()> {
        let fields = self.title("marker", &self.recording.marker_name(marker.name))?;
        if !marker.is_range {
            let track = self.thread_track(marker.thread)?;
            return self.event(marker.span.start, event::INSTANT, track, &fields);
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
        self.event_at(shown, event::SLICE_BEGIN, track, &fields)?;
        self.event_at(end, event::SLICE_END, track, &Message::default())
    }

    fn thread_track(&mut self, tid: u32) -> io::Result<u64> {
        let uuid = THREAD_TRACKS | u64::from(tid);
        if self.tracks.insert(uuid) {
            let mut thread = Message::default();
            thread
                .uint(track::THREAD_PID, u64::from(self.recording.manifest().process.pid))
                .uint(track::THREAD_TID, u64::from(tid))
                .text(track::THREAD_NAME, thread_title(self.recording, tid));
            let mut descriptor = Message::default();
            descriptor.uint(track::UUID, uuid).uint(track::PARENT_UUID, PROCESS_TRACK).message(track::THREAD, &thread);
            self.descriptor(&descriptor)?;
        }
        Ok(uuid)
    }

    /// Returns a track of its own, because what it shows overlaps with runs.
    fn side_track(&mut self, uuid: u64, tid: u32, what: &str) -> io::Result<u64> {
        if self.tracks.insert(uuid) {
            let mut descriptor = Message::default();
            descriptor
                .uint(track::UUID, uuid)
                .text(track::NAME, side_title(self.recording, what, tid))
                .uint(track::PARENT_UUID, PROCESS_TRACK);
            self.descriptor(&descriptor)?;
        }
        Ok(uuid)
    }

    fn title(&mut self, category: &str, name: &str) -> io::Result<Message> {
        let mut fields = Message::default();
        fields
            .uint(event::CATEGORY_IIDS, self.text(interned::CATEGORIES, category)?)
            .uint(event::NAME_IID, self.text(interned::EVENT_NAMES, name)?);
        Ok(fields)
    }

    fn uint_note(&mut self, name: &str, value: u64) -> io::Result<Message> {
        let mut note = Message::default();
        note.uint(annotation::NAME_IID, self.text(interned::ANNOTATION_NAMES, name)?).uint(annotation::UINT, value);
        Ok(note)
    }

    fn bool_note(&mut self, name: &str, value: bool) -> io::Result<Message> {
        let mut note = Message::default();
        note.uint(annotation::NAME_IID, self.text(interned::ANNOTATION_NAMES, name)?)
            .uint(annotation::BOOL, u64::from(value));
        Ok(note)
    }

    /// Returns the number of a text, which is written before it is first used.
    fn text(&mut self, table: u64, text: &str) -> io::Result<u64> {
        let next = self.texts.len() as u64 + 1;
        if let Some(known) = self.texts.get(&(table, text.to_owned())) {
            return Ok(*known);
        }
        self.texts.insert((table, text.to_owned()), next);
        let mut entry = Message::default();
        entry.uint(interned::IID, next).text(interned::TEXT, text);
        let mut data = Message::default();
        data.message(table, &entry);
        let mut packet = Message::default();
        packet
            .uint(packet::SEQUENCE_ID, SEQUENCE)
            .uint(packet::SEQUENCE_FLAGS, NEEDS_INCREMENTAL_STATE)
            .message(packet::INTERNED_DATA, &data);
        self.packet(&packet)?;
        Ok(next)
    }

    fn slice(&mut self, track: u64, span: Span, fields: &Message) -> io::Result<()> {
        self.event(span.start, event::SLICE_BEGIN, track, fields)?;
        self.event(span.end, event::SLICE_END, track, &Message::default())
    }

    fn event(&mut self, at: Ticks, kind: u64, track: u64, fields: &Message) -> io::Result<()> {
        self.event_at(self.calibration.timestamp(at).as_nanos(), kind, track, fields)
    }

    /// Returns an event at a moment in nanoseconds since boot.
    fn event_at(&mut self, at: u64, kind: u64, track: u64, fields: &Message) -> io::Result<()> {
        let mut event = Message::default();
        event.uint(event::TYPE, kind).uint(event::TRACK_UUID, track).append(fields);
        let mut packet = Message::default();
        packet
            .uint(packet::TIMESTAMP, at)
            .uint(packet::SEQUENCE_ID, SEQUENCE)
            .uint(packet::SEQUENCE_FLAGS, NEEDS_INCREMENTAL_STATE)
            .message(packet::TRACK_EVENT, &event);
        self.packet(&packet)
    }

    fn descriptor(&mut self, descriptor: &Message) -> io::Result<()> {
        let mut packet = Message::default();
        packet.uint(packet::SEQUENCE_ID, SEQUENCE).message(packet::TRACK_DESCRIPTOR, descriptor);
        self.packet(&packet)
    }

    fn packet(&mut self, packet: &Message) -> io::Result<()> {
        let mut framed = Message::default();
        framed.message(PACKET, packet);
        self.into.write_all(framed.as_bytes())
    }
}
