//! The queue of records that wait for a callback.

use super::{BufferState, ChunkState};
use crate::chunk::{Policy, head};
use crate::file;
use crate::sync::Ordering;

/// Part of a chunk that waits for a callback. It begins at the chunk's cursor, or after an earlier span of the chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingSpan {
    pub(super) chunk: usize,
    /// The offset of its end.
    pub(super) upto: usize,
    pub(super) payload: usize,
    /// Whether the lease has ended, so that nothing follows in this chunk.
    pub(super) last: bool,
}

impl BufferState {
    /// Returns the payload in the queue.
    pub(super) fn pending_payload(&self) -> usize {
        (self.enqueued - self.dequeued) as usize
    }

    /// Enqueues the part of a slot's chunk that is not in the queue yet, and returns its payload. `last` ends the
    /// chunk.
    pub(super) fn enqueue(&mut self, slot: usize, last: bool) -> usize {
        let Some(lease) = self.slots[slot].lease else { return 0 };
        let fill = self.fill(&lease);
        let (chunk, upto, payload) = (lease.chunk, fill.position(), fill.payload() - lease.enqueued);
        if payload == 0 && !last {
            return 0;
        }
        if let Some(lease) = &mut self.slots[slot].lease {
            lease.enqueued += payload;
        }
        match self.pending.back_mut().filter(|span| span.chunk == chunk) {
            Some(span) => *span = PendingSpan { chunk, upto, payload: span.payload + payload, last },
            None => self.pending.push_back(PendingSpan { chunk, upto, payload, last }),
        }
        self.enqueued += payload as u64;
        self.count_towards_watermark(payload);
        payload
    }

    /// Enqueues what the chunks of all slots hold.
    pub(super) fn enqueue_all(&mut self) {
        for slot in 0..self.slots.len() {
            self.enqueue(slot, false);
        }
    }

    fn count_towards_watermark(&mut self, payload: usize) {
        let Some(watermark) = self.watermark else { return };
        self.partial_batch += payload;
        if self.partial_batch >= watermark {
            self.partial_batch = 0;
        }
        self.callback_due |= self.pending_payload() >= watermark;
    }

    /// Removes bytes from the front of the queue.
    pub(super) fn dequeue(&mut self, bytes: usize) {
        if let Some(front) = self.pending.front_mut() {
            // A damaged header may make other bytes look like records.
            let bytes = bytes.min(front.payload);
            front.payload -= bytes;
            self.dequeued += bytes as u64;
        }
    }

    /// Removes empty spans from the front of the queue, and frees the chunks that end with them.
    pub(super) fn retire_empty(&mut self) {
        while let Some(span) = self.pending.front().copied().filter(|span| span.payload == 0) {
            self.pending.pop_front();
            if span.last {
                self.chunks[span.chunk].finished = true;
                self.recycle(span.chunk);
            }
        }
    }

    /// Frees a chunk, unless it is still leased, pending or in a callback.
    pub(super) fn recycle(&mut self, chunk: usize) {
        let ChunkState { finished, in_callback, last_slot, .. } = self.chunks[chunk];
        if finished && !in_callback {
            self.chunks[chunk] = ChunkState::empty(last_slot);
            let memory = self.region.chunk(chunk);
            memory.word(head::SEQUENCE).store(0, Ordering::Relaxed);
            memory.committed().store(0, Ordering::Release);
            self.free_chunks.push_front(chunk);
        }
    }

    /// `Overwrite`: drops the oldest records, about a chunk's share. Returns whether there were any.
    pub(crate) fn drop_oldest(&mut self) -> bool {
        if self.pending.is_empty() {
            self.enqueue_all();
        }
        self.drop_pending(self.share())
    }

    /// `Overwrite`: drops what is pending beyond the buffer's size.
    pub(super) fn trim(&mut self) {
        let (pending, size) = (self.pending_payload(), self.region.geometry().size);
        if self.policy == Policy::Overwrite && pending > size {
            self.drop_pending(pending - size);
        }
    }

    /// Drops the oldest records, this many bytes of them. Returns whether there were any.
    fn drop_pending(&mut self, bytes: usize) -> bool {
        let mut left = bytes;
        while left > 0 {
            let Some(span) = self.pending.front().copied() else { break };
            let chunk = self.region.chunk(span.chunk);
            let taken = self.chunks[span.chunk].cursor.take(&chunk, span.upto, left);
            if let Some(taken) = taken {
                left = left.saturating_sub(taken.bytes());
                self.counts.of(taken.segment).dropped += taken.count as u64;
                let position = self.chunks[span.chunk].cursor.position;
                chunk.word(head::DELIVERED).store(position as u64, Ordering::Relaxed);
                self.free_space += taken.bytes();
                self.dequeue(taken.bytes());
            }
            self.retire_empty();
            if taken.is_none() && self.pending.front().is_some_and(|front| front.chunk == span.chunk) {
                break;
            }
        }
        file::note_dropped(&self.region, self.counts.dropped());
        self.partial_batch = self.partial_batch.min(self.pending_payload());
        left < bytes
    }
}
