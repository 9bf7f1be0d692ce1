use std::iter::FusedIterator;
use std::sync::OnceLock;

use opscope_clock::{Calibration, ClockPair};

use super::state::{NextBatch, Piece};
use crate::chunk::{Cursor, RecordSpan};
use crate::record::{BufferId, Bytes, RecordRef};

/// The records that one callback receives. They are borrowed from the buffer, and its memory is reused when the
/// callback returns. The records of each thread are in the order in which it emitted them.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    buffer: BufferId,
    batch: &'a NextBatch,
}

/// Iterates over the records of a batch.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    pieces: std::slice::Iter<'a, Piece>,
    piece: Option<Piece>,
    cursor: Cursor,
    taken: Option<RecordSpan>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(buffer: BufferId, batch: &'a NextBatch) -> Self {
        Self { buffer, batch }
    }

    /// Returns the buffer that the records come from.
    pub fn buffer(&self) -> BufferId {
        self.buffer
    }

    /// Returns the number of records: at least 1, unless the callback was [requested](crate::Buffer::request_callback)
    /// or only [reports drops](crate::BufferOptions::reports_drops).
    pub fn len(&self) -> u64 {
        self.batch.records
    }

    /// Returns whether there are no records, which is the case only in a callback that was
    /// [requested](crate::Buffer::request_callback) or that only [reports drops](crate::BufferOptions::reports_drops).
    pub fn is_empty(&self) -> bool {
        self.batch.records == 0
    }

    /// Returns the payload bytes of all records, each rounded up to 8.
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.batch.payload as u64)
    }

    /// Returns the number of records that the buffer delivered before these. A reader that keeps batches can tell from
    /// it whether a batch is missing or was received twice.
    pub fn first(&self) -> u64 {
        self.batch.first
    }

    /// Returns the number of records that the buffer has dropped since it was created.
    pub fn dropped(&self) -> u64 {
        self.batch.dropped
    }

    /// Returns the calibration that turns the ticks of records into timestamps. It reads both clocks, which takes about
    /// half a microsecond: call it once per batch.
    pub fn calibration(&self) -> Calibration {
        Calibration::since(first_clocks())
    }

    /// Returns the records.
    pub fn records(&self) -> Records<'a> {
        Records { pieces: self.batch.pieces.iter(), piece: None, cursor: Cursor::start(), taken: None }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = RecordRef<'a>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let (Some(piece), Some(taken)) = (&self.piece, &mut self.taken)
                && taken.count > 0
            {
                let header = taken.segment.header();
                // SAFETY: the batch holds committed records only, and the chunk is not recycled before the callback
                // that borrows the batch returns. `Cursor::take` keeps whole records within the piece.
                let payload = unsafe { piece.chunk.payload(taken.start, usize::from(header.length)) };
                taken.start += taken.segment.step();
                taken.count -= 1;
                return Some(RecordRef::new(header, payload));
            }
            self.advance()?;
        }
    }
}

impl FusedIterator for Records<'_> {}

impl Records<'_> {
    /// Moves to the next segment, in this piece or the next one.
    fn advance(&mut self) -> Option<()> {
        loop {
            if let Some(piece) = &self.piece {
                self.taken = self.cursor.take(&piece.chunk, piece.upto, usize::MAX);
                if self.taken.is_some() {
                    return Some(());
                }
            }
            let piece = *self.pieces.next()?;
            self.cursor = piece.cursor;
            self.piece = Some(piece);
        }
    }
}

/// Returns the first clock pair of every [`Calibration`]. It is read at the first call, when the first buffer is
/// created.
pub(super) fn first_clocks() -> ClockPair {
    static FIRST: OnceLock<ClockPair> = OnceLock::new();
    *FIRST.get_or_init(ClockPair::now)
}
