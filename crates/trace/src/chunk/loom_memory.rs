use loom::sync::atomic::{AtomicU64, Ordering};

use super::head;

/// A chunk for loom. Payloads are relaxed atomics: where the protocol does not order a read after its write, loom lets the
/// read see an older value, and the model's assertion on the content fails.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk(&'static [AtomicU64]);

impl Chunk {
    /// A chunk of that many bytes.
    pub(crate) fn with_bytes(bytes: usize) -> Self {
        Self(Box::leak((0..bytes / 8).map(|_| AtomicU64::new(0)).collect()))
    }

    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        &self.0[offset / 8]
    }

    pub(crate) fn committed(&self) -> &AtomicU64 {
        self.word(head::COMMITTED)
    }

    /// A model has no caches.
    pub(crate) fn prepare_to_write(&self, _: usize) {}

    /// # Safety
    /// None is needed here; the real chunk has the same signature.
    pub(crate) unsafe fn write(&self, offset: usize, payload: &[u8]) {
        for (index, piece) in payload.chunks(8).enumerate() {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            self.word(offset + index * 8).store(u64::from_le_bytes(word), Ordering::Relaxed);
        }
    }

    /// # Safety
    /// As for [`write`](Self::write).
    pub(crate) unsafe fn payload<'a>(&self, offset: usize, length: usize) -> &'a [u8] {
        let words = (offset..offset + length.next_multiple_of(8)).step_by(8);
        let bytes: Vec<u8> = words.flat_map(|at| self.word(at).load(Ordering::Relaxed).to_le_bytes()).collect();
        &Box::leak(bytes.into_boxed_slice())[..length]
    }
}
