use super::START;

/// The largest size of a buffer. Offsets and counts stay far below the limits of their types.
pub(crate) const MAX_SIZE: u64 = 64 << 30;

/// The smallest share.
const SMALLEST_SHARE: usize = 512;
/// The largest share. With the head and the headers of 120 segments it fills eight pages.
const LARGEST_SHARE: usize = 31 << 10;
/// The number of shares in a buffer whose share is neither the smallest nor the largest.
const CHUNKS: usize = 16;
/// The number of chunks beyond those that the size needs: one that threads share, one that is half delivered, two for
/// the space that `Overwrite` keeps, and two for threads that rarely emit.
const SPARE: usize = 6;

/// How a buffer's memory is cut into chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// The buffer's size: payload bytes, a multiple of 8.
    pub(crate) size: usize,
    /// The payload bytes that a chunk is made for, and the longest record.
    pub(crate) share: usize,
    /// The distance between the starts of two chunks.
    pub(crate) stride: usize,
    /// The number of chunks.
    pub(crate) count: usize,
}

impl Geometry {
    /// Returns the geometry of a buffer of this size: at least 1, at most [`MAX_SIZE`].
    pub(crate) fn for_size(size: u64) -> Self {
        let size = size as usize;
        let size = size.next_multiple_of(8);
        let share = (size / CHUNKS).clamp(SMALLEST_SHARE, LARGEST_SHARE).min(size) / 8 * 8;
        Self { size, share, stride: stride(share), count: size.div_ceil(share) + SPARE }
    }

    /// Returns the bytes of all chunks.
    pub(crate) fn bytes(&self) -> usize {
        self.stride * self.count
    }
}

/// Returns the bytes that a chunk needs. A chunk takes records until its share is reached. In the worst case all but 8
/// bytes of the share are 8-byte records of alternating kinds, each with a header of 8 bytes, and then the longest
/// record follows with its header. Most of that memory is never touched, and so costs nothing.
fn stride(share: usize) -> usize {
    let worst = START + 2 * share + 8 + share;
    if share == LARGEST_SHARE { worst.next_multiple_of(4096) } else { worst.next_multiple_of(64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_covered_by_its_chunks_and_chunks_are_aligned() {
        for size in (1..5000).chain([32 << 10, 1 << 20, (8 << 20) - 3, 8 << 20, 1 << 30, MAX_SIZE]) {
            let geometry = Geometry::for_size(size);
            assert!(geometry.size as u64 >= size && geometry.size as u64 - size < 8);
            assert!(geometry.share * (geometry.count - SPARE) >= geometry.size);
            assert_eq!(geometry.share % 8, 0);
            assert_eq!(geometry.stride % 64, 0);
            assert!(geometry.stride / 8 <= usize::from(u16::MAX), "the end of a segment is 16 bits wide");
        }
    }

    #[test]
    fn shares_strides_and_counts_are_those_that_were_worked_out_by_hand() {
        // The size rounded up to 8; a sixteenth of it, 512 to 31,744 and not above the size; 64 + 3 shares + 8, rounded
        // up to 64 or to pages; the shares in the size, rounded up, and 6.
        for (asked, size, share, stride, count) in [
            (1, 8, 8, 128, 7),
            (100, 104, 104, 384, 7),
            (512, 512, 512, 1664, 7),
            (513, 520, 512, 1664, 8),
            (4096, 4096, 512, 1664, 14),
            (8192, 8192, 512, 1664, 22),
            (8208, 8208, 512, 1664, 23),
            (65_536, 65_536, 4096, 12_416, 22),
            (65_656, 65_656, 4096, 12_416, 23),
            (507_904, 507_904, 31_744, 98_304, 22),
            (8 << 20, 8 << 20, 31_744, 98_304, 271),
        ] {
            assert_eq!(Geometry::for_size(asked), Geometry { size, share, stride, count }, "of {asked} bytes");
        }
        assert_eq!(Geometry::for_size(8 << 20).bytes(), 271 * 98_304);
    }
}
