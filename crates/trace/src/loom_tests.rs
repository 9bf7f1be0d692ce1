//! Tests of each step of the protocol with loom, which runs them in every order that two or three threads can take,
//! with every value that a relaxed load may return. `scripts/check-loom` runs them.
//!
//! They drive the real buffer state, writers and chunks. Only the memory of a chunk is loom's. They do not cover
//! callback threads and thread-local data.
//!
//! The steps: a flush during a write; a chunk that is sealed, delivered and used again; a prefix of a chunk that is
//! published and read; a full buffer, and space that is found; a stop during an emit; a thread that ends, and another
//! one that continues its chunk.

use std::sync::Arc;

use loom::sync::atomic::{AtomicU64, Ordering};
use loom::sync::{Condvar, Mutex};
use loom::thread;

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

#[test]
fn a_flush_delivers_what_was_emitted_before_it() {
    check(|| {
        let buffer = TestBuffer::new(4, 4, 2);
        let emitted = Arc::new(AtomicU64::new(0));
        let producer = {
            let (buffer, emitted) = (buffer.clone(), emitted.clone());
            thread::spawn(move || {
                let writer = buffer.open_slot(1);
                for number in 1..=2 {
                    buffer.emit(&writer, number);
                    emitted.store(number, Ordering::Release);
                }
            })
        };
        let before = emitted.load(Ordering::Acquire);
        let seen = buffer.flush();
        assert!(seen.len() as u64 >= before, "{before} were emitted before, {seen:?} delivered");
        producer.join().expect("it emits");
    });
}

#[test]
fn a_chunk_that_is_delivered_and_used_again_gives_each_record_once() {
    check(|| {
        // A chunk for each record or two, and as few chunks as possible, so that they are used again.
        let buffer = TestBuffer::new(2, 1, 2);
        let producer = {
            let buffer = buffer.clone();
            thread::spawn(move || {
                let writer = buffer.open_slot(1);
                (1..=2).for_each(|number| buffer.emit(&writer, number));
            })
        };
        let mut seen = buffer.flush();
        producer.join().expect("it emits");
        seen.extend(buffer.flush());
        let writer = buffer.open_slot(2);
        (3..=4).for_each(|number| buffer.emit(&writer, number));
        seen.extend(buffer.flush());
        assert_eq!(seen, [1, 2, 3, 4]);
    });
}

#[test]
fn a_reader_sees_a_prefix_of_what_a_thread_writes_and_never_a_torn_record() {
    check(|| {
        let buffer = TestBuffer::new(4, 4, 2);
        let producer = {
            let buffer = buffer.clone();
            thread::spawn(move || {
                let writer = buffer.open_slot(1);
                (1..=3).for_each(|number| buffer.emit(&writer, number));
            })
        };
        let mut seen = buffer.flush();
        producer.join().expect("it emits");
        assert_eq!(seen, (1..=seen.len() as u64).collect::<Vec<_>>());
        seen.extend(buffer.flush());
        assert_eq!(seen, [1, 2, 3]);
    });
}

#[test]
fn a_thread_that_waits_for_space_is_woken_and_loses_nothing() {
    check(|| {
        let buffer = TestBuffer::new(1, 1, 2);
        let producer = {
            let buffer = buffer.clone();
            thread::spawn(move || {
                let writer = buffer.open_slot(1);
                (1..=2).for_each(|number| buffer.emit(&writer, number));
            })
        };
        let mut seen = Vec::new();
        while seen.len() < 2 {
            let numbers = buffer.flush();
            if numbers.is_empty() {
                thread::yield_now();
            }
            seen.extend(numbers);
        }
        producer.join().expect("it emits");
        assert_eq!(seen, [1, 2]);
    });
}

#[test]
fn space_that_another_thread_was_granted_and_does_not_use_is_found() {
    check(|| {
        let buffer = TestBuffer::new(3, 3, 2);
        let first = Sent(buffer.open_slot(1));
        buffer.emit(&first.0, 1);
        // The rest of the space is granted to the first thread. It continues while the second one takes the space away.
        let producer = {
            let buffer = buffer.clone();
            thread::spawn(move || {
                let first = first;
                buffer.emit(&first.0, 2);
            })
        };
        let second = buffer.open_slot(2);
        buffer.emit(&second, 10);
        producer.join().expect("it emits");
        let mut seen = buffer.flush();
        seen.sort_unstable();
        assert_eq!(seen, [1, 2, 10]);
    });
}

#[test]
fn nothing_is_written_without_the_lock_once_the_writers_are_locked_out() {
    check(|| {
        let buffer = TestBuffer::new(8, 8, 2);
        let writer = Sent(buffer.open_slot(1));
        // From here on the thread can write without the lock.
        buffer.emit(&writer.0, 1);
        let producer = thread::spawn(move || {
            let writer = writer;
            let header = header_word(Category(1), 1, 8);
            // A record that would take the lock finds the context stopped, and is not emitted.
            let fits = |number: &u64| writer.0.try_append(header, &number.to_le_bytes());
            (2..=3).take_while(fits).count()
        });
        buffer.lock().lock_all_out();
        let seen = buffer.flush();
        let emitted = 1 + producer.join().expect("it emits");
        assert_eq!(seen.len(), emitted, "what was emitted is delivered, and nothing follows");
        assert!(buffer.flush().is_empty());
    });
}

#[test]
fn what_a_thread_leaves_is_delivered_before_what_follows_it() {
    check(|| {
        let buffer = TestBuffer::new(4, 4, 2);
        let run = |thread: u32, numbers: [u64; 2]| {
            let buffer = buffer.clone();
            thread::spawn(move || {
                let writer = buffer.open_slot(thread);
                numbers.into_iter().for_each(|number| buffer.emit(&writer, number));
                buffer.lock().close_slot(writer.own);
            })
        };
        let first = run(1, [1, 2]);
        let mut seen = buffer.flush();
        first.join().expect("it emits");
        let second = run(2, [3, 4]);
        seen.extend(buffer.flush());
        second.join().expect("it emits");
        seen.extend(buffer.flush());
        assert_eq!(seen, [1, 2, 3, 4]);
    });
}
