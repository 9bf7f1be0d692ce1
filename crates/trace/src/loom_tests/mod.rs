//! Tests of each step of the protocol with loom, which runs them in every order that two or three threads can take,
//! with every value that a relaxed load may return. `scripts/check-loom` runs them.
//!
//! They drive the real buffer state, writers and chunks. Only the memory of a chunk is loom's. They do not cover
//! callback threads and thread-local data.

mod flush;
mod hand_over;
mod prefix;
mod space;
mod stop;
mod thread_end;

use std::sync::Arc;

use loom::sync::{Condvar, Mutex};

use crate::buffer::state::{Appended, BufferState, EmittingThread, NextBatch, OwnWriter};
use crate::chunk::{Cursor, Geometry, Policy, Region, header_word};
use crate::record::{Category, ThreadId};

/// A buffer without its callback thread.
struct TestBuffer {
    state: Mutex<BufferState>,
    /// Notified when space was freed.
    space: Condvar,
}

/// The right to write, and the thread that has it.
struct TestWriter {
    own: OwnWriter,
    thread: Arc<EmittingThread>,
}

impl TestWriter {
    fn try_append(&self, header: u64, payload: &[u8]) -> bool {
        self.thread.try_append(&self.own, header, payload)
    }
}

/// Sends the right to write to the one thread that uses it from then on.
struct Sent(TestWriter);

// SAFETY: each test moves a `Sent` into one new thread, and leaves it there.
unsafe impl Send for Sent {}

impl TestBuffer {
    /// Creates a lossless buffer for a number of 8-byte records, with a chunk for each `share` of them.
    fn new(records: usize, share: usize, chunks: usize) -> Arc<Self> {
        let geometry = Geometry { size: records * 8, share: share * 8, stride: 64 + share * 24 + 8, count: chunks };
        let region = Region::anonymous(geometry).expect("loom's memory is a vector");
        let state = BufferState::new(region, records * 8, Policy::Lossless);
        Arc::new(Self { state: Mutex::new(state), space: Condvar::new() })
    }

    fn lock(&self) -> loom::sync::MutexGuard<'_, BufferState> {
        self.state.lock().expect("no test panics under the lock")
    }

    fn open_slot(&self, number: u32) -> TestWriter {
        let thread = Arc::new(EmittingThread::new());
        let own = self.lock().open_slot(ThreadId(number), &thread);
        TestWriter { own, thread }
    }

    /// Emits a number as `emit` does: without the lock if possible, else with it, waiting for space.
    fn emit(&self, writer: &TestWriter, number: u64) {
        let header = header_word(Category(1), 1, 8);
        let payload = number.to_le_bytes();
        if writer.try_append(header, &payload) {
            return;
        }
        let mut state = self.lock();
        while state.append(Some(&writer.own), header, &payload) == Appended::NoSpace {
            if !state.reclaim(Some(&writer.own)) {
                state.request_flush(false);
                state = self.space.wait(state).expect("no test panics under the lock");
            }
        }
    }

    /// Makes one callback. Returns the numbers that it received.
    fn deliver(&self) -> Vec<u64> {
        let mut batch = NextBatch::default();
        // SAFETY: the batch is read before it is finished, and the buffer lives until then.
        unsafe { self.lock().take_next_batch(&mut batch) };
        // The lock is not held, as in a callback.
        let numbers = read(&batch);
        self.lock().finish(&batch);
        self.space.notify_all();
        numbers
    }

    /// Delivers everything that was emitted before.
    fn flush(&self) -> Vec<u64> {
        self.lock().request_flush(true);
        let mut numbers = Vec::new();
        while self.lock().has_work() {
            numbers.extend(self.deliver());
        }
        numbers
    }
}

fn read(batch: &NextBatch) -> Vec<u64> {
    let mut numbers = Vec::new();
    for piece in &batch.pieces {
        let mut cursor: Cursor = piece.cursor;
        while let Some(taken) = cursor.take(&piece.chunk, piece.upto, usize::MAX) {
            for index in 0..taken.count {
                // SAFETY: the batch holds committed records only, and is not finished.
                let payload = unsafe { piece.chunk.payload(taken.start + index * 8, 8) };
                numbers.push(u64::from_le_bytes(payload.try_into().expect("8 bytes")));
            }
        }
    }
    numbers
}

/// Runs a test in every order, with at most 3 (or `LOOM_MAX_PREEMPTIONS`) switches away from a thread that could
/// continue.
pub(crate) fn check(test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(test);
}
