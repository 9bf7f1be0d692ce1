//! Models of each step of the protocol, for loom: it runs them in every order that two or three threads can take, with
//! every value that a relaxed load may give. `scripts/check-loom` runs them.
//!
//! They drive the real books, writers and chunks; only the memory of a chunk is loom's, and the callback thread and the
//! threads' own data are left out.

mod flush;
mod hand_over;
mod prefix;
mod room;
mod stop;
mod thread_end;

use std::sync::Arc;

use loom::sync::{Condvar, Mutex};

use crate::buffer::state::{Appended, Cut, Ledger};
use crate::buffer::writer::Writer;
use crate::chunk::{Cursor, Geometry, Region, header_word};
use crate::sync::barrier;
use crate::{Category, Policy, ThreadId};

/// A buffer without its threads.
struct Model {
    ledger: Mutex<Ledger>,
    /// Room was made.
    room: Condvar,
}

impl Model {
    /// A lossless buffer for so many 8-byte records, a chunk for each `share` of them.
    fn new(records: usize, share: usize, chunks: usize) -> Arc<Self> {
        let geometry = Geometry { size: records * 8, share: share * 8, stride: 64 + share * 24 + 8, count: chunks };
        let region = Region::anonymous(geometry).expect("a model's memory is a vector");
        let ledger = Ledger::new(region, records * 8, Policy::Lossless);
        Arc::new(Self { ledger: Mutex::new(ledger), room: Condvar::new() })
    }

    fn lock(&self) -> loom::sync::MutexGuard<'_, Ledger> {
        self.ledger.lock().expect("no model panics under the lock")
    }

    fn open_desk(&self, thread: u32) -> Arc<Writer> {
        self.lock().open_desk(ThreadId(thread))
    }

    /// Emits a number, as `emit` does: without the lock where that goes, with it otherwise, and waits for room.
    fn emit(&self, writer: &Writer, number: u64) {
        let header = header_word(Category(1), 1, 8);
        let payload = number.to_le_bytes();
        if writer.try_append(header, &payload, barrier::light) {
            return;
        }
        let mut ledger = self.lock();
        while ledger.append(writer.desk(), header, &payload) == Appended::NoRoom {
            if !ledger.reclaim(writer.desk()) {
                ledger.ask_for_flush(false);
                ledger = self.room.wait(ledger).expect("no model panics under the lock");
            }
        }
    }

    /// Makes one callback; gives the numbers that it got.
    fn deliver(&self) -> Vec<u64> {
        let mut cut = Cut::default();
        self.lock().cut(&mut cut);
        // Without the lock, as a callback reads.
        let numbers = read(&cut);
        self.lock().finish(&cut);
        self.room.notify_all();
        numbers
    }

    /// Delivers everything that was emitted before.
    fn flush(&self) -> Vec<u64> {
        self.lock().ask_for_flush(true);
        let mut numbers = Vec::new();
        while self.lock().has_work() {
            numbers.extend(self.deliver());
        }
        numbers
    }
}

fn read(cut: &Cut) -> Vec<u64> {
    let mut numbers = Vec::new();
    for piece in &cut.pieces {
        let mut cursor: Cursor = piece.cursor;
        while let Some(taken) = cursor.take(&piece.chunk, piece.upto, usize::MAX) {
            for index in 0..taken.count {
                // SAFETY: the cut was taken from what was committed, and is not finished.
                let payload = unsafe { piece.chunk.payload(taken.start + index * 8, 8) };
                numbers.push(u64::from_le_bytes(payload.try_into().expect("8 bytes")));
            }
        }
    }
    numbers
}

/// Runs a model in every order, with at most so many switches of a thread that could have gone on.
fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(model);
}
