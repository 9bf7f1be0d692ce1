use super::{Chunk, START, Segment};
use crate::sync::Ordering;

/// The words of a chunk, by their offsets in bytes.
pub(crate) trait Words {
    /// Returns a word.
    fn word(&self, offset: usize) -> u64;
}

impl Words for Chunk<'_> {
    fn word(&self, offset: usize) -> u64 {
        // Relaxed is enough, because the Acquire load of `committed` has ordered the part of the word that matters, see
        // `Segment`.
        Chunk::word(self, offset).load(Ordering::Relaxed)
    }
}

/// The words of a chunk that was read from a file.
impl Words for [u64] {
    fn word(&self, offset: usize) -> u64 {
        self[offset / 8]
    }
}

/// A position in a chunk. Everything before it has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The offset of the next record, or of the next segment's header.
    pub(crate) position: usize,
    /// The offset of the header of the segment that `position` lies in.
    pub(crate) header: usize,
}

/// Consecutive records of one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordSpan {
    /// The segment.
    pub(crate) segment: Segment,
    /// The offset of the first of them.
    pub(crate) start: usize,
    /// The number of records.
    pub(crate) count: usize,
}

impl RecordSpan {
    /// Returns their payload bytes, each record rounded up to 8.
    pub(crate) fn bytes(&self) -> usize {
        self.count * self.segment.step()
    }
}

impl Cursor {
    /// Returns a cursor at the start of a chunk.
    pub(crate) const fn start() -> Self {
        Self { position: START, header: START - 8 }
    }

    /// Takes the next records of one segment: as few as add up to `wanted` bytes of payload, at least one, and none
    /// past `upto`. Returns `None` at `upto`. In a damaged file it also returns `None` at a word that is not a valid
    /// header.
    pub(crate) fn take(&mut self, chunk: &(impl Words + ?Sized), upto: usize, wanted: usize) -> Option<RecordSpan> {
        if self.position >= upto {
            return None;
        }
        let mut segment = Segment(chunk.word(self.header));
        if segment.end() == Some(self.position) {
            if self.position + 8 >= upto {
                return None;
            }
            *self = Self { position: self.position + 8, header: self.position };
            segment = Segment(chunk.word(self.header));
        }
        let step = segment.step();
        let left = segment.end().map_or(upto, |end| end.min(upto)).checked_sub(self.position)?;
        if step == 0 || left < step {
            return None;
        }
        let count = (left / step).min(wanted.div_ceil(step).max(1));
        let taken = RecordSpan { segment, start: self.position, count };
        self.position += count * step;
        Some(taken)
    }
}
