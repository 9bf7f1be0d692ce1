use super::Ledger;
use crate::chunk::{Chunk, Cursor, head};
use crate::sync::Ordering;

/// Part of a chunk that a callback gets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) chunk: Chunk<'static>,
    pub(crate) cursor: Cursor,
    /// Where it ends. The bytes before were committed.
    pub(crate) upto: usize,
    /// The chunk's number.
    index: usize,
}

/// What one callback gets. Kept from one delivery to the next, for its memory.
#[derive(Debug, Default)]
pub(crate) struct Cut {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) records: u64,
    pub(crate) payload: usize,
    /// Records that callbacks got before.
    pub(crate) first: u64,
    /// Records that were dropped so far.
    pub(crate) dropped: u64,
}

impl Ledger {
    /// Takes the next batch from the queue: as few records as reach the watermark, or all that a flush has to deliver.
    /// Says whether there is one.
    pub(crate) fn cut(&mut self, cut: &mut Cut) -> bool {
        self.begin_flush();
        let waiting = (self.queued - self.unqueued) as usize;
        let due_by_flush = self.flushes.mark.saturating_sub(self.unqueued) as usize;
        let wanted = match self.watermark {
            Some(watermark) if waiting >= watermark && (due_by_flush == 0 || due_by_flush >= watermark) => watermark,
            _ => due_by_flush,
        };
        *cut = Cut { pieces: std::mem::take(&mut cut.pieces), ..Cut::default() };
        cut.pieces.clear();
        while cut.payload < wanted && self.take_piece(cut, wanted - cut.payload) {}
        cut.dropped = self.counts.dropped();
        cut.first = self.counts.delivered();
        self.end_flush();
        cut.records > 0
    }

    /// The callback has returned.
    pub(crate) fn finish(&mut self, cut: &Cut) {
        self.in_delivery.drain_into(&mut self.counts, |all, these| all.delivered += these.waiting);
        for piece in &cut.pieces {
            // What follows may have been overwritten meanwhile.
            piece.chunk.word(head::DELIVERED).fetch_max(piece.upto as u64, Ordering::Relaxed);
            self.chunks[piece.index].in_delivery = false;
            self.recycle(piece.index);
        }
        self.give_back(cut.payload);
        self.retire_empty();
        self.end_flush();
    }

    /// Asks for everything that is in the buffer now to be delivered; gives the number to wait for.
    pub(crate) fn ask_for_flush(&mut self, explicitly: bool) -> u64 {
        self.flushes.asked += 1;
        if explicitly {
            self.flushes.asked_explicitly = self.flushes.asked;
        }
        self.flushes.asked
    }

    /// Whether there is something to do for the callback thread.
    pub(crate) fn has_work(&self) -> bool {
        let waiting = (self.queued - self.unqueued) as usize;
        self.flushes.asked > self.flushes.done || self.watermark.is_some_and(|watermark| waiting >= watermark)
    }

    /// Queues what all threads have emitted, and marks how far the flush reaches.
    fn begin_flush(&mut self) {
        if self.flushes.asked == self.flushes.begun || self.flushes.begun > self.flushes.done {
            return;
        }
        let holders: Vec<usize> = self.holders().map(|(desk, ..)| desk).collect();
        let mut idle = Vec::new();
        for desk in holders {
            let nothing_new = self.queue_up(desk, false) == 0;
            if let Some(hold) = self.desks[desk].hold.as_mut() {
                // A thread that emitted nothing between two flushes gives its chunk back.
                let was_idle = std::mem::replace(&mut hold.idle, nothing_new);
                if nothing_new && was_idle && !self.desks[desk].reserved {
                    idle.push(desk);
                }
            }
        }
        self.take_away(&idle);
        self.trim();
        self.flushes.begun = self.flushes.asked;
        self.flushes.mark = self.queued;
        self.since_cut = 0;
        self.due = false;
    }

    /// A flush is done when what it marked has left the queue and its callback has returned.
    fn end_flush(&mut self) {
        let delivered = self.unqueued >= self.flushes.mark && self.in_delivery.iter().next().is_none();
        if delivered && self.flushes.begun > self.flushes.done {
            self.flushes.done = self.flushes.begun;
            if self.flushes.asked_explicitly <= self.flushes.done && self.flushes.asked_explicitly > 0 {
                self.flushes.asked_explicitly = 0;
                self.reopen();
            }
        }
    }

    /// Takes what is wanted from the front of the queue, as far as it lies in one chunk.
    fn take_piece(&mut self, cut: &mut Cut, wanted: usize) -> bool {
        let Some(stretch) = self.queue.front().copied() else { return false };
        // SAFETY: the buffer keeps its region until no thread writes or reads there.
        let chunk = unsafe { self.region.chunk(stretch.chunk).detach() };
        let cursor = self.chunks[stretch.chunk].cursor;
        let mut payload = 0;
        while payload < wanted {
            let Some(taken) = self.chunks[stretch.chunk].cursor.take(&chunk, stretch.upto, wanted - payload) else {
                break;
            };
            payload += taken.bytes();
            cut.records += taken.count as u64;
            self.in_delivery.of(taken.segment).waiting += taken.count as u64;
        }
        if payload == 0 {
            return false;
        }
        cut.payload += payload;
        let upto = self.chunks[stretch.chunk].cursor.position;
        cut.pieces.push(Piece { chunk, cursor, upto, index: stretch.chunk });
        self.chunks[stretch.chunk].in_delivery = true;
        self.unqueue(payload);
        self.retire_empty();
        true
    }
}
