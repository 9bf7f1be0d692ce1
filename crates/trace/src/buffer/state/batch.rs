use super::pending::PendingSpan;
use super::{BufferState, SPARE_SPANS};
use crate::chunk::{Chunk, Cursor, head};
use crate::sync::Ordering;

/// Part of a chunk that a callback reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) chunk: Chunk<'static>,
    pub(crate) cursor: Cursor,
    /// The offset at which it ends. The bytes before it are committed.
    pub(crate) upto: usize,
    /// The chunk's index.
    index: usize,
}

/// The records that the next callback receives. The memory is reused from one delivery to the next.
#[derive(Debug, Default)]
pub(crate) struct NextBatch {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) records: u64,
    pub(crate) payload: usize,
    /// The records that callbacks received before.
    pub(crate) first: u64,
    /// The records that were dropped so far.
    pub(crate) dropped: u64,
    /// The payload bytes that could not be read, because their memory was overwritten.
    damaged: usize,
}

impl BufferState {
    /// Returns whether the callback thread has work.
    pub(crate) fn has_work(&self) -> bool {
        self.flush_is_requested() || self.watermark.is_some_and(|watermark| self.pending_payload() >= watermark)
    }

    /// Takes the next batch from the queue: as few records as reach the watermark, or all that a flush has to deliver.
    /// Returns whether the callback has to be called with it. The batch is empty only if an empty one was requested, or
    /// if it reports drops.
    ///
    /// # Safety
    /// The batch is read only before [`finish`](Self::finish), and while the region lives.
    pub(crate) unsafe fn take_next_batch(&mut self, batch: &mut NextBatch) -> bool {
        self.begin_flush();
        let to_flush = self.payload_to_flush();
        let wanted = match self.watermark {
            Some(watermark) if self.pending_payload() >= watermark && (to_flush == 0 || to_flush >= watermark) => {
                watermark
            }
            _ => to_flush,
        };
        *batch = NextBatch { pieces: std::mem::take(&mut batch.pieces), ..NextBatch::default() };
        batch.pieces.clear();
        while batch.payload < wanted && self.take_piece(batch, wanted - batch.payload) {}
        batch.dropped = self.counts.dropped();
        batch.first = self.counts.delivered();
        let is_called = batch.records > 0 || self.flush_wants_callback();
        if is_called {
            self.reported_drops = self.reported_drops.map(|_| batch.dropped);
        } else {
            self.end_flush();
            self.free_delivered(batch.damaged);
            self.retire_empty();
        }
        is_called
    }

    /// Notes that the callback has returned, and frees the space of the records that it read.
    pub(crate) fn finish(&mut self, batch: &NextBatch) {
        self.in_callback.drain_into(&mut self.counts, |all, these| all.delivered += these.waiting);
        for piece in &batch.pieces {
            // This is a maximum, because the rest of the chunk may have been overwritten meanwhile.
            let delivered = self.region.chunk(piece.index).word(head::DELIVERED);
            delivered.fetch_max(piece.upto as u64, Ordering::Relaxed);
            self.chunks[piece.index].in_callback = false;
            self.recycle(piece.index);
        }
        self.free_delivered(batch.payload + batch.damaged);
        self.retire_empty();
        self.pending.reserve(SPARE_SPANS);
        self.end_flush();
    }

    /// Takes records from the span at the front of the queue: as few as add up to `wanted` bytes of payload, or all of
    /// them. Returns whether there were any, damaged ones included.
    fn take_piece(&mut self, batch: &mut NextBatch, wanted: usize) -> bool {
        let Some(span) = self.pending.front().copied() else { return false };
        // SAFETY: the caller of `take_next_batch` vouches for the region.
        let chunk = unsafe { self.region.chunk(span.chunk).detach() };
        let state = &mut self.chunks[span.chunk];
        let cursor = state.cursor;
        let mut payload = 0;
        while payload < wanted
            && let Some(taken) = state.cursor.take(&chunk, span.upto, wanted - payload)
        {
            payload += taken.bytes();
            batch.records += taken.count as u64;
            self.in_callback.of(taken.segment).waiting += taken.count as u64;
        }
        if payload == 0 {
            return self.skip_damaged(batch, span);
        }
        state.in_callback = true;
        batch.payload += payload;
        batch.pieces.push(Piece { chunk, cursor, upto: state.cursor.position, index: span.chunk });
        self.dequeue(payload);
        self.retire_empty();
        true
    }

    /// Removes the rest of a span that cannot be read, because another program may overwrite headers in a buffer's
    /// file. Returns whether there was a rest.
    fn skip_damaged(&mut self, batch: &mut NextBatch, span: PendingSpan) -> bool {
        if span.payload == 0 {
            return false;
        }
        batch.damaged += span.payload;
        self.damaged += span.payload as u64;
        self.chunks[span.chunk].cursor.position = span.upto;
        self.dequeue(span.payload);
        self.retire_empty();
        true
    }
}
