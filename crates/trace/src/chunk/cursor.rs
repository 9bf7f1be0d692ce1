//! What a chunk holds: its segments, how far it is filled, and a position in it.

use super::{Chunk, START};
use crate::record::{Category, Header};
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

/// The header of a segment: successive records of the same category, kind and length in a chunk, which share one
/// header.
///
/// | bits | what |
/// |---|---|
/// | 0-7 | category |
/// | 8-15 | always 0 |
/// | 16-31 | kind |
/// | 32-47 | length of each payload, in bytes |
/// | 48-63 | the segment's end, in units of 8 bytes from the chunk's start; 0 while it is the last segment |
///
/// The end is stored before the next segment's first record is committed. A reader that sees that record also sees the
/// end. A reader that does not see that record may find 0 here. It then correctly takes `committed` for the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment(pub(crate) u64);

/// Returns the header of an open segment.
#[inline(always)]
pub(crate) const fn header_word(category: Category, kind: u16, length: usize) -> u64 {
    category.0 as u64 | (kind as u64) << 16 | (length as u64) << 32
}

impl Segment {
    /// Returns the header of each of its records.
    pub(crate) fn header(self) -> Header {
        Header { category: Category(self.0 as u8), kind: (self.0 >> 16) as u16, length: (self.0 >> 32) as u16 }
    }

    /// Returns the distance between the starts of two records.
    pub(crate) fn step(self) -> usize {
        usize::from((self.0 >> 32) as u16).next_multiple_of(8)
    }

    /// Returns the offset of its end, or `None` while it is open.
    pub(crate) fn end(self) -> Option<usize> {
        match self.0 >> 48 {
            0 => None,
            units => Some(units as usize * 8),
        }
    }

    /// Returns the same header with an end.
    pub(crate) fn closed_at(self, end: usize) -> u64 {
        self.0 & 0xffff_ffff_ffff | (end as u64 / 8) << 48
    }
}

/// How far a chunk is filled: the end of its last whole record (lower 32 bits), and the payload before it (upper 32
/// bits). They share a word, so that a reader gets both as of the same moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fill(pub(crate) u64);

impl Fill {
    /// The fill of a chunk without a record.
    pub(crate) const EMPTY: Self = Self(START as u64);

    /// Returns the offset of the next record, or of its segment's header.
    #[inline(always)]
    pub(crate) fn position(self) -> usize {
        self.0 as u32 as usize
    }

    /// Returns the payload bytes, each record rounded up to 8.
    #[inline(always)]
    pub(crate) fn payload(self) -> usize {
        (self.0 >> 32) as usize
    }

    /// Returns the fill with one more record of `length` bytes, a multiple of 8.
    #[inline(always)]
    pub(crate) fn with_record(self, length: usize) -> Self {
        Self(self.0 + length as u64 * (1 | 1 << 32))
    }

    /// Returns the fill with one more segment header.
    pub(crate) fn with_header(self) -> Self {
        Self(self.0 + 8)
    }
}
