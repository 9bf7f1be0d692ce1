use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use super::{START, head};

/// One chunk of a [`Region`](super::Region).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk<'region> {
    start: NonNull<u8>,
    /// The bytes of the chunk: at least [`START`].
    length: usize,
    _region: PhantomData<&'region [u8]>,
}

// SAFETY: a chunk is shared memory. The rules of the `chunk` module say which thread may touch which of its bytes.
unsafe impl Send for Chunk<'_> {}
// SAFETY: as above.
unsafe impl Sync for Chunk<'_> {}

impl<'region> Chunk<'region> {
    /// # Safety
    /// `start` is a multiple of 8, and `length` bytes from it on belong to a chunk that lives at least as long as
    /// `'region`. `length` is at least [`START`].
    pub(crate) unsafe fn new(start: NonNull<u8>, length: usize) -> Self {
        debug_assert!(length >= START && start.as_ptr().addr().is_multiple_of(8));
        Self { start, length, _region: PhantomData }
    }

    /// Separates the chunk from the borrow of its region.
    ///
    /// # Safety
    /// The region lives for as long as the result or a copy of it is used.
    pub(crate) unsafe fn detach(self) -> Chunk<'static> {
        Chunk { start: self.start, length: self.length, _region: PhantomData }
    }

    /// Returns a word that threads share: one of the head, or a segment's header.
    ///
    /// # Panics
    /// When the word does not lie in the chunk.
    #[inline]
    pub(crate) fn word(&self, offset: usize) -> &'region AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset <= self.length - 8, "a word lies in its chunk");
        // SAFETY: the word was just checked to be aligned and in the chunk.
        unsafe { self.word_unchecked(offset) }
    }

    /// Returns the word that says how far the chunk is filled: a [`Fill`](super::Fill).
    #[inline(always)]
    pub(crate) fn committed(&self) -> &'region AtomicU64 {
        // SAFETY: the head is part of every chunk.
        unsafe { self.word_unchecked(head::COMMITTED) }
    }

    /// # Safety
    /// `offset` is a multiple of 8, and the 8 bytes from it on lie in the chunk.
    #[inline(always)]
    unsafe fn word_unchecked(&self, offset: usize) -> &'region AtomicU64 {
        // SAFETY: the caller vouches for alignment and bounds. These words are accessed as atomics only.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(offset).cast()) }
    }

    /// Writes a payload.
    ///
    /// # Safety
    /// The caller is the chunk's one writer, `offset` is at or after `committed`, and the payload ends within the
    /// chunk.
    #[inline(always)]
    pub(crate) unsafe fn write(&self, offset: usize, payload: &[u8]) {
        // SAFETY: the caller vouches for it. These bytes are not read before they are committed.
        unsafe { std::ptr::copy_nonoverlapping(payload.as_ptr(), self.start.as_ptr().add(offset), payload.len()) }
    }

    /// Prefetches a cache line for writing, so that no other cache holds it when it is written.
    #[inline(always)]
    pub(crate) fn prepare_to_write(&self, offset: usize) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: PREFETCHW reads and writes nothing and never faults, whatever the address. Processors without it
        // ignore it.
        unsafe {
            std::arch::asm!("prefetchw [{}]", in(reg) self.start.as_ptr().wrapping_add(offset), options(nostack, preserves_flags, readonly));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = offset;
    }

    /// Returns the bytes of a payload that is not committed yet.
    ///
    /// # Safety
    /// As for [`write`](Self::write), for as long as the slice is used.
    pub(crate) unsafe fn payload_mut(&self, offset: usize, length: usize) -> &'region mut [u8] {
        // SAFETY: the caller vouches for it. The memory was zero when it was mapped, so it is initialised.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(offset), length) }
    }

    /// Returns a committed payload.
    ///
    /// # Safety
    /// The payload ends at or before a `committed` that was loaded with Acquire, and the chunk is not recycled while
    /// the slice is used.
    #[inline(always)]
    pub(crate) unsafe fn payload(&self, offset: usize, length: usize) -> &'region [u8] {
        // SAFETY: the caller vouches for it. Committed bytes are not written again until the chunk is recycled.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(offset), length) }
    }
}
