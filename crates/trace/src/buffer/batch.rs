use std::iter::FusedIterator;
use std::marker::PhantomData;

use opscope_clock::Calibration;

use crate::buffer::state::{Cut, Piece};
use crate::chunk::{Cursor, Taken};
use crate::process as life;
use crate::{BufferId, Bytes, RecordRef};

/// What one callback gets: records where they lie, those of each thread in the order in which it emitted them. They are
/// gone when the callback returns.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    buffer: BufferId,
    cut: &'a Cut,
}

/// Goes through the records of a batch.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    pieces: std::slice::Iter<'a, Piece>,
    piece: Option<Piece>,
    cursor: Cursor,
    taken: Option<Taken>,
    _batch: PhantomData<&'a [u8]>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(buffer: BufferId, cut: &'a Cut) -> Self {
        Self { buffer, cut }
    }

    /// The buffer that delivers.
    pub fn buffer(&self) -> BufferId {
        self.buffer
    }

    /// How many records there are; never 0.
    pub fn len(&self) -> u64 {
        self.cut.records
    }

    /// Whether there are none. A callback never gets such a batch.
    pub fn is_empty(&self) -> bool {
        self.cut.records == 0
    }

    /// The payload of all records, each rounded up to 8 bytes.
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.cut.payload as u64)
    }

    /// How many records the buffer delivered before these. A reader that kept earlier batches knows from it whether one is
    /// missing, or here twice.
    pub fn first(&self) -> u64 {
        self.cut.first
    }

    /// How many records the buffer has dropped since it was created.
    pub fn dropped(&self) -> u64 {
        self.cut.dropped
    }

    /// How the ticks of records become time. Reads both clocks, which takes about half a microsecond: ask once for a batch.
    pub fn calibration(&self) -> Calibration {
        Calibration::since(life::first_clocks())
    }

    /// The records.
    pub fn records(&self) -> Records<'a> {
        Records {
            pieces: self.cut.pieces.iter(),
            piece: None,
            cursor: Cursor::start(),
            taken: None,
            _batch: PhantomData,
        }
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
                // SAFETY: the batch was cut from what was committed, and the chunk is not recycled before the callback that
                // borrows the batch returns. `Cursor::take` keeps whole records within the piece.
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
    /// Goes on to the next segment, in this piece or the next one.
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
