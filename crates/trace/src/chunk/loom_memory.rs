//! The memory of a buffer for loom.

use std::fs::File;
use std::io;

use loom::sync::atomic::{AtomicU64, Ordering};

use super::{Geometry, head};

/// A chunk for loom. Its payloads are relaxed atomics: where the protocol does not order a read after its write, loom
/// lets the read see an older value, and the test's assertion on the content fails.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk<'region>(&'region [AtomicU64]);

impl<'region> Chunk<'region> {
    pub(crate) fn new(words: &'region [AtomicU64]) -> Self {
        Self(words)
    }

    /// # Safety
    /// As for the real chunk.
    pub(crate) unsafe fn detach(self) -> Chunk<'static> {
        // SAFETY: the caller vouches for it.
        Chunk(unsafe { std::mem::transmute::<&'region [AtomicU64], &'static [AtomicU64]>(self.0) })
    }

    pub(crate) fn word(&self, offset: usize) -> &'region AtomicU64 {
        &self.0[offset / 8]
    }

    pub(crate) fn committed(&self) -> &'region AtomicU64 {
        self.word(head::COMMITTED)
    }

    /// Does nothing: loom models no caches.
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
    pub(crate) unsafe fn payload(&self, offset: usize, length: usize) -> &'region [u8] {
        let words = (offset..offset + length.next_multiple_of(8)).step_by(8);
        let bytes: Vec<u8> = words.flat_map(|at| self.word(at).load(Ordering::Relaxed).to_le_bytes()).collect();
        &Box::leak(bytes.into_boxed_slice())[..length]
    }
}

/// The memory of one buffer under loom.
#[derive(Debug)]
pub(crate) struct Region {
    geometry: Geometry,
    chunks: Vec<Vec<AtomicU64>>,
}

impl Region {
    pub(crate) fn anonymous(geometry: Geometry) -> io::Result<Self> {
        let words = || (0..geometry.stride / 8).map(|_| AtomicU64::new(0)).collect();
        Ok(Self { geometry, chunks: (0..geometry.count).map(|_| words()).collect() })
    }

    /// Fails: there are no files under loom.
    pub(crate) fn of_file(_: Geometry, _: &File, _: usize) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    pub(crate) fn chunk(&self, index: usize) -> Chunk<'_> {
        Chunk::new(&self.chunks[index])
    }

    /// Does nothing: there are no forks under loom.
    pub(crate) fn make_private(&mut self) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn head_word(&self, _offset: usize) -> Option<&AtomicU64> {
        None
    }
}
