use crate::record::{Category, Header};

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
