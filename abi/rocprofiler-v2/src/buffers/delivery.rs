use std::ffi::{CString, c_char, c_int};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope_border::Unpadded;
use opscope_clock::{Calibration, Ticks};
use opscope_producer::kernel_name;
use opscope_trace::{Batch, RecordRef};
use zerocopy::FromBytes;

use super::stored_records::{
    ACTIVITY, CATEGORY, DISPATCH, MARKER, MARKER_WORDS, MESSAGE_FOLLOWS, NO_MESSAGE, next_number, next_record,
};
use super::{aside_records, current_batch, stored_records};
use crate::border::call_tool;
use crate::kinds::{ENGINE, PHASE_ENTER, PHASE_NONE, PROFILER, QUEUE, ROCTX, TRACER};
use crate::layout::{Handle, KernelProperties, ProfilerRecord, RecordHeader, TracerRecord};
use crate::threads;

/// A tool's callback for a buffer.
pub type BufferCallback = extern "C-unwind" fn(*const RecordHeader, *const RecordHeader, Handle, Handle);

/// How many bytes one callback receives at most.
const MOST_BYTES: usize = 64 << 10;

/// Packs the records of a buffer, and passes them to the tool. It needs memory for one callback only.
pub struct Delivery {
    session: Handle,
    buffer: Handle,
    callback: BufferCallback,
    /// Set when a record is found to be overwritten.
    damaged: Arc<AtomicBool>,
    records: Vec<u64>,
    /// The offset of each record, and its kind.
    places: Vec<(usize, c_int)>,
    /// The messages of the records.
    messages: Vec<u8>,
    /// For each message, the offset of the word that will point to it, and the offset of the message.
    pointers: Vec<(usize, usize)>,
    /// The messages that were too long for the buffer.
    long: Vec<CString>,
}

impl Delivery {
    pub fn new(session: Handle, buffer: Handle, callback: BufferCallback, damaged: Arc<AtomicBool>) -> Self {
        let (records, places, messages, pointers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { session, buffer, callback, damaged, records, places, messages, pointers, long: Vec::new() }
    }

    /// Passes a batch on, in as many callbacks as its size needs.
    pub fn deliver(&mut self, batch: &Batch<'_>) {
        // These are taken before any callback is called. Records that callbacks set aside from now on must come after
        // their earlier records in the buffer, which are in the next batch.
        let aside = aside_records::take(batch.buffer());
        let calibration = batch.calibration();
        for record in batch.records() {
            if self.add(record, &calibration).is_none() {
                self.damaged.store(true, Ordering::Release);
            }
            self.call_if_full();
        }
        for record in aside {
            // The check word is right, because only this library had the record.
            let _ = self.add_words(record.form, &record.words, &calibration);
            self.call_if_full();
        }
        self.call();
    }

    /// Adds a record in the tool's format. Returns `None` for one that was overwritten.
    #[inline]
    fn add(&mut self, record: RecordRef<'_>, calibration: &Calibration) -> Option<()> {
        let (header, payload) = (record.header(), record.payload());
        if header.category != CATEGORY {
            return None;
        }
        let words = <[u64]>::ref_from_bytes(payload).ok()?;
        self.add_words(header.kind, words, calibration)
    }

    #[inline]
    fn add_words(&mut self, form: u16, words: &[u64], calibration: &Calibration) -> Option<()> {
        let is_whole =
            (MARKER_WORDS..=stored_records::MOST_WORDS).contains(&words.len()) && !words.len().is_multiple_of(2);
        if !is_whole {
            return None;
        }
        let (head, text) = words[1..].split_at(if form == MARKER { MARKER_WORDS - 1 } else { words.len() - 1 });
        if stored_records::check(head, text) != words[0] {
            return None;
        }
        match form {
            MARKER => self.add_marker(words, calibration)?,
            DISPATCH => self.add_dispatch(words.try_into().ok()?),
            ACTIVITY => self.add_activity(words.try_into().ok()?),
            _ => return None,
        }
        Some(())
    }

    /// Adds a marker. Returns `None` if its message is missing.
    fn add_marker(&mut self, words: &[u64], calibration: &Calibration) -> Option<()> {
        let start = self.records.len() * 8;
        let name: *const c_char = match words[4] {
            NO_MESSAGE => ptr::null(),
            MESSAGE_FOLLOWS => {
                self.pointers.push((start + std::mem::offset_of!(TracerRecord, name), self.messages.len()));
                for word in &words[5..] {
                    self.messages.extend_from_slice(&word.to_ne_bytes());
                }
                ptr::null()
            }
            number => {
                let message = stored_records::take_message(number)?;
                let name = message.as_ptr();
                self.long.push(message);
                name
            }
        };
        let record = TracerRecord {
            header: self.header(TRACER),
            external_id: words[2],
            domain: ROCTX,
            operation: (words[3] >> 32) as u32,
            api_data: ptr::null(),
            correlation_id: 0,
            begin: calibration.timestamp(Ticks::from_raw(words[1])).as_nanos(),
            end: 0,
            agent_id: Handle(0),
            queue_id: Handle(0),
            thread_id: words[3] as u32,
            phase: PHASE_ENTER,
            name,
        };
        self.push(TRACER, &record);
        Some(())
    }

    fn add_dispatch(&mut self, words: &[u64; 7]) {
        let &[_, kernel, begin, end, grid, number, thread] = words;
        let number = if number == 0 { next_number() } else { number };
        let record = ProfilerRecord {
            header: self.header(PROFILER),
            kernel_id: Handle(kernel),
            gpu_id: ENGINE,
            queue_id: QUEUE,
            begin,
            end,
            counters: ptr::null(),
            counters_count: 0,
            xcc_index: 0,
            padding: 0,
            kernel_properties: KernelProperties {
                grid_size: grid,
                workgroup_size: 1,
                wave_size: 1,
                ..Default::default()
            },
            thread_id: thread as u32,
            padding2: 0,
            queue_index: number,
            correlation_id: number,
        };
        self.push(PROFILER, &record);
    }

    fn add_activity(&mut self, words: &[u64; 7]) {
        let &[_, begin, end, what, correlation_id, thread, kernel] = words;
        let record = TracerRecord {
            header: self.header(TRACER),
            external_id: 0,
            domain: what as u32 as c_int,
            operation: (what >> 32) as u32,
            api_data: ptr::null(),
            correlation_id,
            begin,
            end,
            agent_id: ENGINE,
            queue_id: QUEUE,
            thread_id: thread as u32,
            phase: PHASE_NONE,
            name: kernel_name(kernel).map_or(ptr::null(), std::ffi::CStr::as_ptr),
        };
        self.push(TRACER, &record);
    }

    fn header(&self, kind: c_int) -> RecordHeader {
        RecordHeader { kind, padding: 0, id: Handle(next_record()) }
    }

    fn push(&mut self, kind: c_int, record: &impl Unpadded) {
        self.places.push((self.records.len() * 8, kind));
        self.records.extend_from_slice(record.as_words());
    }

    fn call_if_full(&mut self) {
        if self.records.len() * 8 >= MOST_BYTES {
            self.call();
        }
    }

    /// Calls the tool with the records that were added, and then clears them.
    fn call(&mut self) {
        if self.records.is_empty() {
            return;
        }
        for (word, message) in self.pointers.drain(..) {
            self.records[word / 8] = self.messages.as_ptr().wrapping_add(message) as u64;
        }
        let range = self.records.as_mut_ptr_range();
        let (begin, end) = (range.start.cast_const().cast(), range.end.cast_const().cast());
        let of = (self.session, self.buffer);
        current_batch::begin(of, begin as usize, end as usize, &mut self.places);
        threads::deliver(|| {
            call_tool("a buffer's callback", || (self.callback)(begin, end, self.session, self.buffer))
        });
        if !current_batch::end(of, &self.records, &mut self.places) {
            self.damaged.store(true, Ordering::Release);
        }
        self.records.clear();
        self.places.clear();
        self.messages.clear();
        self.long.clear();
    }
}
