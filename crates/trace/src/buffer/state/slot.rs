use std::sync::Arc;

use super::BufferState;
use super::writer::{OwnWriter, Writer};
use crate::chunk::Fill;
use crate::record::ThreadId;
use crate::sync::{Ordering, barrier};

/// The slot of all threads that lease no chunk of their own. Its writer has no owner and is used under the lock only.
pub(super) const SHARED: usize = 0;

/// The place of one emitting thread in the buffer.
#[derive(Debug)]
pub(super) struct ThreadSlot {
    pub(super) writer: Arc<Writer>,
    /// `None` after the thread's end. The next thread takes the slot over, with its lease and its writer.
    pub(super) thread: Option<ThreadId>,
    pub(super) lease: Option<ChunkLease>,
    /// A record is being built in its chunk.
    pub(super) reserved: bool,
    /// Its last record went into the shared chunk.
    pub(super) last_shared: bool,
}

/// A chunk that a slot has for itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkLease {
    pub(super) chunk: usize,
    /// The payload that the chunk may take.
    pub(super) granted: usize,
    /// The payload of it that was enqueued.
    pub(super) enqueued: usize,
    /// No record was emitted between the last two flushes.
    pub(super) idle: bool,
}

/// A slot whose thread is not writing without the lock: the calling thread's own slot, the shared one, or one that was
/// locked out. It stays so until the lock is released, and the calling thread's own slot while a record is being built in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QuietSlot(usize);

impl QuietSlot {
    pub(super) const SHARED: Self = Self(SHARED);

    pub(super) fn index(self) -> usize {
        self.0
    }
}

impl ThreadSlot {
    pub(super) fn shared() -> Self {
        Self::new(SHARED, ThreadId(0))
    }

    fn new(index: usize, thread: ThreadId) -> Self {
        let writer = Arc::new(Writer::new(index));
        Self { writer, thread: Some(thread), lease: None, reserved: false, last_shared: false }
    }

    /// Returns whether its thread has ended.
    pub(super) fn is_vacant(&self) -> bool {
        self.thread.is_none()
    }
}

impl BufferState {
    /// Opens a slot for a thread that emits into the buffer for the first time. It continues the chunk of a thread that has
    /// ended, if there is one.
    pub(crate) fn open_slot(&mut self, thread: ThreadId) -> OwnWriter {
        let vacant = |leases| self.slots.iter().position(|slot| slot.is_vacant() && slot.lease.is_some() == leases);
        let index = vacant(true).or_else(|| vacant(false)).unwrap_or(self.slots.len());
        if index == self.slots.len() {
            self.slots.push(ThreadSlot::new(index, thread));
        }
        self.slots[index].thread = Some(thread);
        // SAFETY: the slot is new, or vacant: `close_slot` consumed its last `OwnWriter`.
        unsafe { OwnWriter::new(Arc::clone(&self.slots[index].writer)) }
    }

    /// Closes the slot of a thread that ends. Its records stay, and so does the rest of its chunk, for the next thread.
    pub(crate) fn close_slot(&mut self, writer: OwnWriter) {
        let Some(slot) = self.own_slot(&writer) else { return };
        let index = slot.index();
        self.slots[index].thread = None;
        self.slots[index].reserved = false;
        self.slots[index].writer.revoke_limit();
        // A thread that joins this one and emits then, into any chunk, comes after it.
        self.enqueue(index, false);
        if std::mem::take(&mut self.slots[index].last_shared) {
            self.enqueue(SHARED, false);
        }
        self.return_grant(slot);
    }

    /// Returns the slot of the calling thread, or `None` if it was opened before a fork, for the parent's records.
    pub(super) fn own_slot(&self, writer: &OwnWriter) -> Option<QuietSlot> {
        let index = writer.writer().slot();
        let own = self.slots.get(index).is_some_and(|slot| Arc::ptr_eq(&slot.writer, writer.writer()));
        own.then_some(QuietSlot(index))
    }

    /// Makes the next record of each of these slots' threads take the lock. When this returns, none of them is writing
    /// without it.
    pub(super) fn lock_out(&mut self, slots: Vec<usize>) -> Vec<QuietSlot> {
        let has_owner = |index: usize| index != SHARED && !self.slots[index].is_vacant();
        if slots.iter().any(|&index| has_owner(index)) {
            slots.iter().for_each(|&index| self.slots[index].writer.revoke_limit());
            barrier::heavy();
            slots.iter().for_each(|&index| self.slots[index].writer.wait_until_idle());
        }
        slots.into_iter().map(QuietSlot).collect()
    }

    /// Makes every thread's next record take the lock. When this returns, no thread is writing without it.
    pub(crate) fn lock_all_out(&mut self) {
        let leasing = self.leasing().map(|(index, ..)| index).collect();
        self.lock_out(leasing);
    }

    /// Returns the slots that lease a chunk.
    pub(super) fn leasing(&self) -> impl Iterator<Item = (usize, &ThreadSlot, &ChunkLease)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| Some((index, slot, slot.lease.as_ref()?)))
    }

    /// Returns how far a leased chunk is filled. The load is an Acquire: another thread may have committed without the
    /// lock, and the caller may read up to there.
    pub(super) fn fill(&self, lease: &ChunkLease) -> Fill {
        Fill(self.region.chunk(lease.chunk).committed().load(Ordering::Acquire))
    }
}
