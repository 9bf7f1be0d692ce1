use std::cell::UnsafeCell;

use crate::barrier;
use crate::chunk::{Chunk, Fill, START, Segment};
use crate::sync::{AtomicU32, AtomicU64, AtomicUsize, Ordering, yield_now};

/// What a thread needs to write into its chunk of one buffer without a lock.
///
/// Everything but `limit` is the owning thread's. `limit` changes under the buffer's lock only: any thread may set it to 0,
/// the owner to more. A thread that lowered a limit calls [`shut_out`](Self::shut_out), and knows from
/// then on that the owner's next record takes the lock.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Writer {
    /// 1 while the owner may be writing without the lock.
    busy: AtomicU32,
    /// The chunk's payload must stay below this for a record to be written without the lock: something is due there, or
    /// the thread's grant ends. 0 where there is no chunk.
    limit: AtomicUsize,
    /// How far the chunk is filled, as its `committed` says.
    fill: AtomicU64,
    /// The header of the open segment; 0 where there is none.
    header: AtomicU64,
    /// Where that header stands.
    header_at: AtomicUsize,
    /// The chunk that the owner took last.
    chunk: UnsafeCell<Option<Chunk>>,
    /// Its entry in the buffer's books.
    desk: usize,
}

// SAFETY: all fields are atomics or never change, but `chunk`: it is written by `take` under the buffer's lock, on the
// owning thread (for the shared desk: on whichever has the lock, and that desk's limit is always 0), and read in
// `try_append` by the owning thread.
unsafe impl Send for Writer {}
// SAFETY: as above.
unsafe impl Sync for Writer {}

impl Writer {
    pub(crate) fn new(desk: usize) -> Self {
        Self {
            busy: AtomicU32::new(0),
            limit: AtomicUsize::new(0),
            fill: AtomicU64::new(0),
            header: AtomicU64::new(0),
            header_at: AtomicUsize::new(0),
            chunk: UnsafeCell::new(None),
            desk,
        }
    }

    /// Its entry in the buffer's books.
    pub(crate) fn desk(&self) -> usize {
        self.desk
    }

    /// Writes a record where nothing but writing is to be done. Says whether it did. For the owning thread alone.
    #[inline(always)]
    pub(crate) fn try_append(&self, header: u64, payload: &[u8]) -> bool {
        self.busy.store(1, Ordering::Relaxed);
        barrier::light();
        let fill = Fill(self.fill.load(Ordering::Relaxed));
        let length = payload.len().next_multiple_of(8);
        let fits = fill.payload() + length < self.limit.load(Ordering::Relaxed);
        if fits {
            // SAFETY: only this thread writes the field, and not now.
            if let Some(chunk) = unsafe { &*self.chunk.get() } {
                let fill = if header == self.header.load(Ordering::Relaxed) { fill } else { self.open_segment(header) };
                // SAFETY: a limit above 0 says that this thread holds the chunk: it is its one writer, `fill` is its
                // `committed`, and what stays below a limit ends within the stride.
                unsafe { chunk.write(fill.position(), payload) };
                self.commit(chunk, fill.with_record(length));
            }
        }
        self.busy.store(0, Ordering::Release);
        fits
    }

    /// Where the payload of a record goes. Under the lock, by the owner, who holds a chunk.
    pub(crate) fn offset_of(&self, header: u64) -> usize {
        let position = self.fill().position();
        if position == START || header == self.header.load(Ordering::Relaxed) { position } else { position + 8 }
    }

    /// Makes a record that was written where [`offset_of`](Self::offset_of) says part of the chunk. Under the lock, by the
    /// owner.
    pub(crate) fn commit_written(&self, header: u64, length: usize) {
        // SAFETY: the caller holds the lock.
        let Some(chunk) = (unsafe { &*self.chunk.get() }) else { return };
        let fill = if header == self.header.load(Ordering::Relaxed) { self.fill() } else { self.open_segment(header) };
        self.commit(chunk, fill.with_record(length));
    }

    /// Begins an empty chunk. Under the lock, by the owner.
    pub(crate) fn take(&self, chunk: Chunk) {
        self.header.store(0, Ordering::Relaxed);
        self.fill.store(Fill::EMPTY.0, Ordering::Relaxed);
        chunk.committed().store(Fill::EMPTY.0, Ordering::Release);
        // SAFETY: the caller holds the lock and is the owner, who is not in `try_append` then.
        unsafe { *self.chunk.get() = Some(chunk) };
    }

    /// Goes on in another writer's chunk, where that one has got to. Under the lock; the other's owner is shut out and will
    /// not go on.
    pub(crate) fn take_over(&self, other: &Writer) {
        for (mine, its) in [(&self.header, &other.header), (&self.fill, &other.fill)] {
            mine.store(its.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.header_at.store(other.header_at.load(Ordering::Relaxed), Ordering::Relaxed);
        // SAFETY: the caller holds the lock and both owners are not in `try_append`.
        unsafe { *self.chunk.get() = *other.chunk.get() };
    }

    #[inline(always)]
    fn commit(&self, chunk: &Chunk, fill: Fill) {
        chunk.committed().store(fill.0, Ordering::Release);
        self.fill.store(fill.0, Ordering::Relaxed);
    }

    fn fill(&self) -> Fill {
        Fill(self.fill.load(Ordering::Relaxed))
    }

    /// Ends the open segment and begins one with another header; says how far the chunk is filled with it. Nothing of it
    /// is committed yet.
    #[cold]
    #[inline(never)]
    fn open_segment(&self, header: u64) -> Fill {
        let mut fill = self.fill();
        // SAFETY: the callers are the owner, who alone writes the field.
        let Some(chunk) = (unsafe { &*self.chunk.get() }) else { return fill };
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

    /// How far the owner gets without the lock. Under the lock; above 0 by the owner only.
    pub(crate) fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Waits until the owner is not writing without the lock. The limit was set to 0 and [`barrier::heavy`] was called
    /// before: whoever is not seen here sees the limit.
    pub(crate) fn shut_out(&self) {
        while self.busy.load(Ordering::Acquire) != 0 {
            yield_now();
        }
    }
}
