//! The delivery of records to a tool's callback.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use opscope_clock::{Calibration, Ticks};
use opscope_trace::{Batch, Header};

use crate::border::{Data, call_tool};
use crate::exit::FirstCall;
use crate::layout::{Handle, RecordHeader};
use crate::stored_records::{CATEGORY_OFFSET, ticks_of};
use crate::thread;

/// A tool's callback for a buffer.
pub type TracingCallback = Option<Function>;
type Function = extern "C-unwind" fn(Handle, Handle, *mut *mut RecordHeader, usize, Data, u64);

/// How many payload bytes one callback receives at most: more than a chunk of a buffer holds.
const MOST_BYTES: usize = 64 << 10;

/// Passes the records of a buffer to the tool: payloads with times as tools read them, headers, and an array of
/// pointers to the headers. It needs memory for one callback only, however large the buffer is.
pub struct Delivery {
    context: Handle,
    buffer: Handle,
    callback: Function,
    data: Data,
    busy: &'static AtomicUsize,
    is_ended: &'static AtomicBool,
    first_call: FirstCall,
    payloads: Vec<u64>,
    /// The header of each record. Until the tool is called, `payload` holds the index of the payload's first word.
    headers: Vec<RecordHeader>,
    pointers: Vec<*mut RecordHeader>,
}

// SAFETY: the pointers lead into its own memory and are set again before each callback.
#[allow(unsafe_code, reason = "the memory of its pointers is kept from one callback to the next")]
unsafe impl Send for Delivery {}

impl Delivery {
    pub fn new(
        context: Handle,
        buffer: Handle,
        callback: Function,
        data: Data,
        size: usize,
        busy: &'static AtomicUsize,
        is_ended: &'static AtomicBool,
    ) -> Self {
        let payloads = Vec::with_capacity(size.min(MOST_BYTES) / 8);
        let (first_call, headers, pointers) = (FirstCall::pending(), Vec::new(), Vec::new());
        Self { context, buffer, callback, data, busy, is_ended, first_call, payloads, headers, pointers }
    }

    /// Passes a batch on, in as many callbacks as its size needs. A batch without records reports drops.
    pub fn deliver(&mut self, batch: &Batch<'_>) {
        let _calling = Busy::enter(self.busy);
        let calibration = batch.calibration();
        for record in batch.records() {
            let words = record.payload().len().div_ceil(8);
            if !self.headers.is_empty() && self.payloads.len() + words > self.payloads.capacity() {
                self.call(batch.dropped());
            }
            self.add(record.header(), record.payload(), &calibration);
        }
        if !self.headers.is_empty() || batch.is_empty() {
            self.call(batch.dropped());
        }
    }

    #[inline]
    fn add(&mut self, header: Header, payload: &[u8], calibration: &Calibration) {
        let start = self.payloads.len();
        let words = payload.chunks_exact(8);
        let rest = words.remainder();
        self.payloads.extend(words.map(word));
        if !rest.is_empty() {
            self.payloads.push(word(rest));
        }
        let category = u32::from(header.category.0 - CATEGORY_OFFSET);
        for &word in ticks_of(category, u32::from(header.kind)) {
            let ticks = &mut self.payloads[start + word];
            *ticks = calibration.timestamp(Ticks::from_raw(*ticks)).as_nanos();
        }
        let payload = ptr::without_provenance_mut(start);
        self.headers.push(RecordHeader { category, kind: u32::from(header.kind), payload });
    }

    /// Calls the tool with the records that were added, and then clears them.
    fn call(&mut self, dropped: u64) {
        if !self.is_ended.load(Ordering::SeqCst) {
            self.call_tool(dropped);
        }
        self.payloads.clear();
        self.headers.clear();
        self.pointers.clear();
    }

    fn call_tool(&mut self, dropped: u64) {
        let payloads = self.payloads.as_mut_ptr();
        for header in &mut self.headers {
            // The field held the index of the payload's first word until now.
            header.payload = payloads.wrapping_add(header.payload.addr()).cast();
        }
        self.pointers.extend(self.headers.iter_mut().map(ptr::from_mut));
        let count = self.pointers.len();
        let pointers = if count == 0 { ptr::null_mut() } else { self.pointers.as_mut_ptr() };
        let was_delivering = thread::with_current(|thread| thread.is_delivering.replace(true));
        call_tool("a buffer's callback", || {
            (self.callback)(self.context, self.buffer, pointers, count, self.data, dropped);
        });
        thread::with_current(|thread| thread.is_delivering.set(was_delivering));
        self.first_call.has_returned();
    }
}

/// Returns up to 8 bytes as one word.
#[inline(always)]
fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_ne_bytes(word)
}

/// A flush or a callback that is in progress.
pub(super) struct Busy(&'static AtomicUsize);

impl Busy {
    pub fn enter(busy: &'static AtomicUsize) -> Self {
        busy.fetch_add(1, Ordering::SeqCst);
        Self(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
