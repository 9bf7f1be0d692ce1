use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use super::head;

/// One chunk, wherever it lies. The region outlives every use: a buffer shuts its threads out before it goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk(NonNull<u8>);

// SAFETY: a chunk is shared memory; the module's rules say who may touch which bytes of it, on any thread.
unsafe impl Send for Chunk {}
// SAFETY: as above.
unsafe impl Sync for Chunk {}

impl Chunk {
    /// The chunk that starts there.
    ///
    /// # Safety
    /// The address is aligned to 8 and starts a chunk of a living region, with a stride of bytes behind it.
    pub(crate) unsafe fn at(start: NonNull<u8>) -> Self {
        Self(start)
    }

    /// A word of the chunk that is shared between threads: of the head, or a segment's header.
    #[inline(always)]
    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset.is_multiple_of(8));
        // SAFETY: offsets come from the buffer's own bookkeeping and stay within the stride; chunks are aligned to 8, and
        // these words are accessed as atomics only, once the chunk is anyone's.
        unsafe { AtomicU64::from_ptr(self.0.as_ptr().add(offset).cast()) }
    }

    /// How far it is filled.
    #[inline(always)]
    pub(crate) fn committed(&self) -> &AtomicU64 {
        self.word(head::COMMITTED)
    }

    /// Writes a payload.
    ///
    /// # Safety
    /// The caller is the chunk's one writer, the offset is at or after `committed`, and the payload ends within the stride.
    #[inline(always)]
    pub(crate) unsafe fn write(&self, offset: usize, payload: &[u8]) {
        // SAFETY: the caller's promise; nobody reads these bytes before they are committed.
        unsafe { std::ptr::copy_nonoverlapping(payload.as_ptr(), self.0.as_ptr().add(offset), payload.len()) }
    }

    /// Asks for a line that will be written soon, so that no other cache holds it by then.
    #[inline(always)]
    pub(crate) fn prepare_to_write(&self, offset: usize) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: PREFETCHW reads and writes nothing and never faults, whatever the address; processors without it ignore it.
        unsafe {
            std::arch::asm!("prefetchw [{}]", in(reg) self.0.as_ptr().wrapping_add(offset), options(nostack, preserves_flags, readonly));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = offset;
    }

    /// A payload that is being built.
    ///
    /// # Safety
    /// As for [`write`](Self::write), for as long as the slice lives; nobody else writes there in that time.
    pub(crate) unsafe fn payload_mut<'a>(&self, offset: usize, length: usize) -> &'a mut [u8] {
        // SAFETY: the caller's promise; the memory was zero when it was mapped, so it is initialised.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_ptr().add(offset), length) }
    }

    /// A committed payload.
    ///
    /// # Safety
    /// The payload ends at or before a `committed` that was loaded with Acquire, and the chunk is not recycled while the
    /// slice lives.
    #[inline(always)]
    pub(crate) unsafe fn payload<'a>(&self, offset: usize, length: usize) -> &'a [u8] {
        // SAFETY: the caller's promise; committed bytes are not written again until then.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().add(offset), length) }
    }
}
