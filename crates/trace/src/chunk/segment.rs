use super::{Chunk, START};
use crate::sync::Ordering;
use crate::{Category, Header};

/// A run of records of equal category, kind and length within a chunk. One header stands before all of them:
///
/// | bits | what |
/// |---|---|
/// | 0-7 | category |
/// | 8-15 | always 0 |
/// | 16-31 | kind |
/// | 32-47 | length of each payload, in bytes |
/// | 48-63 | where the run ends, in units of 8 bytes from the chunk's start; 0 while it is the last one |
///
/// The end is stored before the next run's first record is committed. A reader who sees that record sees the end; one who
/// does not, and finds 0, takes `committed` for the end and is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment(pub(crate) u64);

/// The header of an open segment.
#[inline(always)]
pub(crate) const fn header_word(category: Category, kind: u16, length: usize) -> u64 {
    category.0 as u64 | (kind as u64) << 16 | (length as u64) << 32
}

impl Segment {
    /// The header that each of its records has.
    pub(crate) fn header(self) -> Header {
        Header { category: Category(self.0 as u8), kind: (self.0 >> 16) as u16, length: (self.0 >> 32) as u16 }
    }

    /// How far its records lie apart.
    pub(crate) fn step(self) -> usize {
        usize::from((self.0 >> 32) as u16).next_multiple_of(8)
    }

    /// Where it ends; none while it is open.
    pub(crate) fn end(self) -> Option<usize> {
        match self.0 >> 48 {
            0 => None,
            units => Some(units as usize * 8),
        }
    }

    /// The same header with its end.
    pub(crate) fn closed_at(self, end: usize) -> u64 {
        self.0 & 0xffff_ffff_ffff | (end as u64 / 8) << 48
    }
}

/// How far a chunk is filled: where the last whole record ends, and how much payload lies before, as one word. So whoever
/// reads it gets both of the same moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fill(pub(crate) u64);

impl Fill {
    /// A chunk without a record.
    pub(crate) const EMPTY: Self = Self(START as u64);

    /// Where the next record goes, or its segment's header.
    #[inline(always)]
    pub(crate) fn position(self) -> usize {
        self.0 as u32 as usize
    }

    /// Payload bytes, each record rounded up to 8.
    #[inline(always)]
    pub(crate) fn payload(self) -> usize {
        (self.0 >> 32) as usize
    }

    /// With one more record of so many bytes, a multiple of 8.
    #[inline(always)]
    pub(crate) fn with_record(self, length: usize) -> Self {
        Self(self.0 + length as u64 * (1 | 1 << 32))
    }

    /// With one more segment's header.
    pub(crate) fn with_header(self) -> Self {
        Self(self.0 + 8)
    }
}

/// The words of a chunk, by their offsets in bytes.
pub(crate) trait Words {
    /// A word, which lies before what was given to [`Cursor::take`] as the end.
    fn word(&self, offset: usize) -> u64;
}

impl Words for Chunk {
    fn word(&self, offset: usize) -> u64 {
        // Relaxed: the Acquire load of `committed` has ordered what matters of it, see [`Segment`].
        Chunk::word(self, offset).load(Ordering::Relaxed)
    }
}

/// A chunk that was read from a file.
impl Words for [u64] {
    fn word(&self, offset: usize) -> u64 {
        self[offset / 8]
    }
}

/// A place in a chunk: everything before it has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// Where the next record lies, or the next segment's header.
    pub(crate) position: usize,
    /// Where the header of the segment stands that `position` is in.
    pub(crate) header: usize,
}

/// Some records of one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The segment.
    pub(crate) segment: Segment,
    /// Where the first of them lies.
    pub(crate) start: usize,
    /// How many.
    pub(crate) count: usize,
}

impl Taken {
    /// Their payload, each rounded up to 8.
    pub(crate) fn bytes(&self) -> usize {
        self.count * self.segment.step()
    }
}

impl Cursor {
    /// The start of a chunk.
    pub(crate) const fn start() -> Self {
        Self { position: START, header: START - 8 }
    }

    /// Takes the next records of one segment: as few as make up `wanted` bytes of payload, at least one, none past `upto`.
    /// None at `upto`, and where the bytes make no sense, which happens in damaged files only.
    pub(crate) fn take(&mut self, chunk: &(impl Words + ?Sized), upto: usize, wanted: usize) -> Option<Taken> {
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
        let taken = Taken { segment, start: self.position, count };
        self.position += count * step;
        Some(taken)
    }
}
