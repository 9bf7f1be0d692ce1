use std::sync::Arc;
use std::sync::atomic::compiler_fence;

use super::BufferState;
use super::emitting::EmittingThread;
use super::writer::{OwnWriter, Writer};
use crate::chunk::Fill;
use crate::record::ThreadId;
use crate::sync::{Ordering, barrier};

/// The slot of all threads that lease no chunk of their own. Its writer has no owner and is used only under the lock.
pub(super) const SHARED: usize = 0;

/// The state of one emitting thread in the buffer.
#[derive(Debug)]
pub(super) struct ThreadSlot {
    pub(super) writer: Arc<Writer>,
    /// `None` after the thread's end. The next thread takes the slot over, with its lease and its writer.
    pub(super) thread: Option<ThreadId>,
    /// The thread that writes through the writer, while `thread` is set. The shared slot has none.
    owner: Option<Arc<EmittingThread>>,
    pub(super) lease: Option<ChunkLease>,
    /// Whether a record is being built in its chunk.
    pub(super) reserved: bool,
    /// Whether its last record went into the shared chunk.
    pub(super) last_shared: bool,
}

/// The lease of a chunk by a slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkLease {
    pub(super) chunk: usize,
    /// The payload bytes that the chunk may take.
    pub(super) granted: usize,
    /// The payload bytes of it that were enqueued.
    pub(super) enqueued: usize,
    /// Whether no record was emitted between the last two flushes.
    pub(super) idle: bool,
}

/// A slot whose thread is not writing without the lock: the calling thread's own slot, the shared one, or one that was
/// locked out. That holds until the lock is released. For the calling thread's own slot, it also holds while a record
/// is being built in it.
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
        Self { writer, thread: Some(thread), owner: None, lease: None, reserved: false, last_shared: false }
    }

    /// Returns whether its thread has ended.
    pub(super) fn is_vacant(&self) -> bool {
        self.thread.is_none()
    }
}

impl BufferState {
    /// Opens a slot for a thread that emits into the buffer for the first time. It continues the chunk of a thread that
    /// has ended, if there is one.
    pub(crate) fn open_slot(&mut self, thread: ThreadId, owner: &Arc<EmittingThread>) -> OwnWriter {
        let vacant = |leases| self.slots.iter().position(|slot| slot.is_vacant() && slot.lease.is_some() == leases);
        let index = vacant(true).or_else(|| vacant(false)).unwrap_or(self.slots.len());
        if index == self.slots.len() {
            self.slots.push(ThreadSlot::new(index, thread));
        }
        self.slots[index].thread = Some(thread);
        self.slots[index].owner = Some(Arc::clone(owner));
        // The memory that a record needs under the lock is allocated here, because a signal handler that emits must not
        // allocate.
        self.found.reserve(self.slots.len());
        // SAFETY: the slot is new, or vacant: `close_slot` consumed its last `OwnWriter`.
        unsafe { OwnWriter::new(Arc::clone(&self.slots[index].writer)) }
    }

    /// Closes the slot of a thread that ends. Its records stay, and so does the rest of its chunk, for the next thread.
    pub(crate) fn close_slot(&mut self, writer: OwnWriter) {
        let Some(slot) = self.own_slot(&writer) else { return };
        let index = slot.index();
        (self.slots[index].thread, self.slots[index].owner) = (None, None);
        self.slots[index].reserved = false;
        self.slots[index].writer.revoke_limit();
        // If a thread joins this one and then emits, into any chunk, its records must come later.
        self.enqueue(index, false);
        if std::mem::take(&mut self.slots[index].last_shared) {
            self.enqueue(SHARED, false);
        }
        self.return_grant(slot);
    }

    /// Returns the slot of the calling thread, or `None` if it was opened before a fork, for the parent's records. The
    /// thread's signal handlers do not write either, until the limit is set again.
    pub(super) fn own_slot(&self, writer: &OwnWriter) -> Option<QuietSlot> {
        let index = writer.writer().slot();
        let own = self.slots.get(index).filter(|slot| Arc::ptr_eq(&slot.writer, writer.writer()))?;
        own.writer.revoke_limit();
        compiler_fence(Ordering::SeqCst);
        Some(QuietSlot(index))
    }

    /// Forces the next record of each of these slots' threads to take the lock. When this returns, none of them is
    /// writing without it.
    pub(super) fn lock_out<'a>(&mut self, slots: &'a [usize]) -> impl Iterator<Item = QuietSlot> + use<'a> {
        let owners = || slots.iter().filter_map(|&index| self.slots[index].owner.as_ref());
        if owners().next().is_some() {
            slots.iter().for_each(|&index| self.slots[index].writer.revoke_limit());
            barrier::heavy();
            owners().for_each(|owner| owner.wait_until_idle());
        }
        slots.iter().copied().map(QuietSlot)
    }

    /// Forces the next record of every thread to take the lock. When this returns, no thread is writing without it.
    pub(crate) fn lock_all_out(&mut self) {
        let leasing = self.find_leasing(|_, _, _, _| true);
        let _ = self.lock_out(&leasing);
        self.found = leasing;
    }

    /// Returns the slots that lease a chunk.
    pub(super) fn leasing(&self) -> impl Iterator<Item = (usize, &ThreadSlot, &ChunkLease)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| Some((index, slot, slot.lease.as_ref()?)))
    }

    /// Returns the slots that lease a chunk and satisfy the condition. The caller puts the list back into `found` after
    /// its use, so that its memory is reused.
    pub(super) fn find_leasing(
        &mut self,
        is_meant: impl Fn(&Self, usize, &ThreadSlot, &ChunkLease) -> bool,
    ) -> Vec<usize> {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        let meant = self.leasing().filter(|(index, slot, lease)| is_meant(self, *index, slot, lease));
        found.extend(meant.map(|(index, ..)| index));
        found
    }

    /// Returns how far a leased chunk is filled. The load is an Acquire: another thread may have committed without the
    /// lock, and the caller may read up to there.
    pub(super) fn fill(&self, lease: &ChunkLease) -> Fill {
        Fill(self.region.chunk(lease.chunk).committed().load(Ordering::Acquire))
    }
}
