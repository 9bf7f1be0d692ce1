use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use crate::chunk::{Chunk, Fill, START, Segment};
use crate::sync::{AtomicU32, AtomicU64, AtomicUsize, Ordering, yield_now};

/// How far ahead of a record, in bytes, the chunk's lines are asked for: some 16 records, as long as it takes to get a line
/// back from the cache of whoever read the last batch.
const AHEAD: usize = 1024;

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
    /// The header of the open segment; 0 where there is none.
    header: AtomicU64,
    /// Where that header stands.
    header_at: AtomicUsize,
    /// The chunk that the owner took last, if it ever took one.
    chunk: UnsafeCell<MaybeUninit<Chunk<'static>>>,
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
            header: AtomicU64::new(0),
            header_at: AtomicUsize::new(0),
            chunk: UnsafeCell::new(MaybeUninit::uninit()),
            desk,
        }
    }

    /// Its entry in the buffer's books.
    pub(crate) fn desk(&self) -> usize {
        self.desk
    }

    /// Writes a record where nothing but writing is to be done. Says whether it did. For the owning thread alone.
    ///
    /// `fence` is [`light`](crate::sync::barrier::light), or [`none`](crate::sync::barrier::none) where [`is_one_sided`](crate::sync::barrier::is_one_sided) was found true before.
    #[inline(always)]
    pub(crate) fn try_append(&self, header: u64, payload: &[u8], fence: impl Fn()) -> bool {
        self.busy.store(1, Ordering::Relaxed);
        fence();
        let limit = self.limit.load(Ordering::Relaxed);
        // Without a limit above 0 this thread has no chunk, and the memory of the last one may be gone.
        let fits = limit > 0 && self.append_below(limit, header, payload);
        self.busy.store(0, Ordering::Release);
        fits
    }

    #[inline(always)]
    fn append_below(&self, limit: usize, header: u64, payload: &[u8]) -> bool {
        // SAFETY: only this thread writes the field, and not now. It was written before the limit was raised above 0.
        let chunk = unsafe { (*self.chunk.get()).assume_init_ref() };
        let mut fill = Fill(chunk.committed().load(Ordering::Relaxed));
        let length = payload.len().next_multiple_of(8);
        if fill.payload() + length >= limit {
            return false;
        }
        if header != self.header.load(Ordering::Relaxed) {
            fill = self.open_segment(chunk, fill, header);
        }
        // SAFETY: this thread holds the chunk: it is its one writer, `fill` is its `committed`, and what stays below a limit
        // ends within the stride.
        unsafe { chunk.write(fill.position(), payload) };
        chunk.prepare_to_write(fill.position() + AHEAD);
        chunk.committed().store(fill.with_record(length).0, Ordering::Release);
        true
    }

    /// Where the payload of a record goes in the chunk that the owner holds. Under the lock, by the owner.
    pub(crate) fn offset_of(&self, chunk: &Chunk, header: u64) -> usize {
        let position = Fill(chunk.committed().load(Ordering::Relaxed)).position();
        if position == START || header == self.header.load(Ordering::Relaxed) { position } else { position + 8 }
    }

    /// Makes a record that was written where [`offset_of`](Self::offset_of) says part of the chunk. Under the lock, by the
    /// owner.
    pub(crate) fn commit_written(&self, chunk: &Chunk, header: u64, length: usize) {
        let mut fill = Fill(chunk.committed().load(Ordering::Relaxed));
        if header != self.header.load(Ordering::Relaxed) {
            fill = self.open_segment(chunk, fill, header);
        }
        chunk.committed().store(fill.with_record(length).0, Ordering::Release);
    }

    /// Begins an empty chunk. Under the lock, by the owner.
    pub(crate) fn take(&self, chunk: Chunk<'static>) {
        self.header.store(0, Ordering::Relaxed);
        chunk.committed().store(Fill::EMPTY.0, Ordering::Release);
        // SAFETY: the caller holds the lock and is the owner, who is not in `try_append` then.
        unsafe { *self.chunk.get() = MaybeUninit::new(chunk) };
    }

    /// Goes on in another writer's chunk, where that one has got to. Under the lock; the other's owner is shut out and will
    /// not go on.
    pub(crate) fn take_over(&self, other: &Writer) {
        self.header.store(other.header.load(Ordering::Relaxed), Ordering::Relaxed);
        self.header_at.store(other.header_at.load(Ordering::Relaxed), Ordering::Relaxed);
        // SAFETY: the caller holds the lock and both owners are not in `try_append`.
        unsafe { *self.chunk.get() = *other.chunk.get() };
    }

    /// Ends the open segment and begins one with another header; says how far the chunk is filled with it. Nothing of it
    /// is committed yet.
    #[cold]
    #[inline(never)]
    fn open_segment(&self, chunk: &Chunk, mut fill: Fill, header: u64) -> Fill {
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

    /// Waits until the owner is not writing without the lock. The limit was set to 0 and [`heavy`](crate::sync::barrier::heavy) was called
    /// before: whoever is not seen here sees the limit.
    pub(crate) fn shut_out(&self) {
        while self.busy.load(Ordering::Acquire) != 0 {
            yield_now();
        }
    }
}
