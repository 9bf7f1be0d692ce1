//! Emitting without a lock: a thread writes into its chunk up to a limit.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::compiler_fence;

use crate::chunk::{Chunk, Fill, START, Segment};
use crate::sync::{AtomicU64, AtomicUsize, Ordering};

/// The distance in bytes at which the chunk's cache lines are requested ahead of a record: about 16 records, which take
/// as long as a line needs to come back from the cache of the thread that read the last batch.
const AHEAD: usize = 1024;

/// The data with which a thread writes into its chunk of one buffer without a lock.
///
/// A writer belongs to the thread that has its [`OwnWriter`]. `limit` changes only under the buffer's lock: any thread
/// may revoke it, and the owner may raise it. A thread that has revoked it calls `barrier::heavy` and
/// `EmittingThread::wait_until_idle`. From then on the owner's next record takes the lock.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Writer {
    /// The chunk's payload must stay below this for a record to be written without the lock: at the limit a callback is
    /// due, or the thread's grant ends. 0 if there is no chunk.
    limit: AtomicUsize,
    /// The header of the open segment; 0 if there is none.
    header: AtomicU64,
    /// The offset of that header.
    header_at: AtomicUsize,
    /// The chunk that the owner leased last, if it ever leased one.
    chunk: UnsafeCell<MaybeUninit<Chunk<'static>>>,
    /// The index of its slot in the buffer's state.
    slot: usize,
}

// SAFETY: all fields except `chunk` are atomics or never change. `chunk` is written under the buffer's lock while the
// owner is not in `try_append`, and read by the owner in `try_append`.
unsafe impl Send for Writer {}
// SAFETY: as above.
unsafe impl Sync for Writer {}

/// The right to write through a writer. There is one per writer, and it stays on the thread that opened the slot.
#[derive(Debug)]
pub(crate) struct OwnWriter {
    writer: Arc<Writer>,
    _thread: PhantomData<*const ()>,
}

impl OwnWriter {
    /// # Safety
    /// There is no other `OwnWriter` of this writer.
    pub(super) unsafe fn new(writer: Arc<Writer>) -> Self {
        Self { writer, _thread: PhantomData }
    }

    pub(in crate::buffer) fn writer(&self) -> &Arc<Writer> {
        &self.writer
    }
}

impl Writer {
    pub(super) fn new(slot: usize) -> Self {
        Self {
            limit: AtomicUsize::new(0),
            header: AtomicU64::new(0),
            header_at: AtomicUsize::new(0),
            chunk: UnsafeCell::new(MaybeUninit::uninit()),
            slot,
        }
    }

    /// Returns the index of its slot in the buffer's state.
    pub(super) fn slot(&self) -> usize {
        self.slot
    }

    /// Writes a record if it stays below the limit. Returns whether it did.
    ///
    /// # Safety
    /// The calling thread has the writer's [`OwnWriter`], and is writing: `EmittingThread::begin_writing` returned
    /// true. `fence` is `barrier::light`, or `barrier::none` if `barrier::is_one_sided` returned true before.
    #[inline(always)]
    pub(in crate::buffer) unsafe fn try_append(&self, header: u64, payload: &[u8], fence: impl Fn()) -> bool {
        fence();
        let limit = self.limit.load(Ordering::Relaxed);
        // SAFETY: the caller is the owner. A limit above 0 means that it leases a chunk.
        limit > 0 && unsafe { self.append_below(limit, header, payload) }
    }

    /// # Safety
    /// The caller is the owner, it is writing, and `limit` was read after that and is above 0.
    #[inline(always)]
    unsafe fn append_below(&self, limit: usize, header: u64, payload: &[u8]) -> bool {
        // SAFETY: the field was written before the limit was raised above 0, and does not change while the owner is
        // writing.
        let chunk = unsafe { (*self.chunk.get()).assume_init_ref() };
        let mut fill = Fill(chunk.committed().load(Ordering::Relaxed));
        let length = payload.len().next_multiple_of(8);
        if fill.payload() + length >= limit {
            return false;
        }
        if header != self.header.load(Ordering::Relaxed) {
            fill = self.open_segment(chunk, fill, header);
        }
        // SAFETY: the owner leases the chunk, so it is the only writer. `fill` is its `committed`, and a payload below
        // a limit ends within the chunk.
        unsafe { chunk.write(fill.position(), payload) };
        chunk.prepare_to_write(fill.position() + AHEAD);
        chunk.committed().store(fill.with_record(length).0, Ordering::Release);
        true
    }

    /// Returns the offset at which the next record's payload goes.
    pub(super) fn offset_in(&self, chunk: &Chunk<'_>, header: u64) -> usize {
        let position = Fill(chunk.committed().load(Ordering::Relaxed)).position();
        if position == START || header == self.header.load(Ordering::Relaxed) { position } else { position + 8 }
    }

    /// Commits a record that was written at [`offset_in`](Self::offset_in).
    ///
    /// # Safety
    /// The caller holds the buffer's lock, the owner is not in `try_append`, `chunk` is the one that the writer's slot
    /// leases, and the record was written.
    pub(super) unsafe fn commit(&self, chunk: &Chunk<'_>, header: u64, length: usize) {
        let mut fill = Fill(chunk.committed().load(Ordering::Relaxed));
        if header != self.header.load(Ordering::Relaxed) {
            fill = self.open_segment(chunk, fill, header);
        }
        chunk.committed().store(fill.with_record(length).0, Ordering::Release);
    }

    /// Begins an empty chunk.
    ///
    /// # Safety
    /// The caller holds the buffer's lock, the owner is not in `try_append`, and no other slot leases the chunk.
    pub(super) unsafe fn begin_chunk(&self, chunk: Chunk<'static>) {
        self.header.store(0, Ordering::Relaxed);
        chunk.committed().store(Fill::EMPTY.0, Ordering::Release);
        // SAFETY: only the owner reads the field, and it is not in `try_append`.
        unsafe { *self.chunk.get() = MaybeUninit::new(chunk) };
    }

    /// Continues another writer's chunk.
    ///
    /// # Safety
    /// The caller holds the buffer's lock, neither owner is in `try_append`, and the other writer does not continue.
    pub(super) unsafe fn take_over(&self, other: &Writer) {
        self.header.store(other.header.load(Ordering::Relaxed), Ordering::Relaxed);
        self.header_at.store(other.header_at.load(Ordering::Relaxed), Ordering::Relaxed);
        // SAFETY: only the owners read the fields, and they are not in `try_append`.
        unsafe { *self.chunk.get() = *other.chunk.get() };
    }

    /// Closes the open segment and opens one with another header. Returns the fill with that header, which is not
    /// committed yet.
    #[cold]
    #[inline(never)]
    fn open_segment(&self, chunk: &Chunk<'_>, mut fill: Fill, header: u64) -> Fill {
        let mut at = START - 8;
        if fill != Fill::EMPTY {
            let open = Segment(self.header.load(Ordering::Relaxed));
            let end = open.closed_at(fill.position());
            // Readers see the end before they see a record of the next segment: `committed` is stored later.
            chunk.word(self.header_at.load(Ordering::Relaxed)).store(end, Ordering::Relaxed);
            at = fill.position();
            fill = fill.with_header();
        }
        chunk.word(at).store(header, Ordering::Relaxed);
        self.header_at.store(at, Ordering::Relaxed);
        self.header.store(header, Ordering::Relaxed);
        fill
    }

    /// Sets the payload up to which the owner needs no lock.
    ///
    /// # Safety
    /// The caller holds the buffer's lock, the owner is not in `try_append`, its slot leases the chunk that was begun
    /// or taken over last, and no record below the limit reaches past the chunk's end.
    pub(super) unsafe fn set_limit(&self, limit: usize) {
        // A signal handler of the owner may write from here on, and finds a consistent state.
        compiler_fence(Ordering::SeqCst);
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Sets the limit to 0, under the buffer's lock. The owner may still be writing a record.
    pub(super) fn revoke_limit(&self) {
        self.limit.store(0, Ordering::Relaxed);
    }
}
