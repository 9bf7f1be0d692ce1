use super::START;

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
