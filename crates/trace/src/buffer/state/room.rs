use super::{ChunkBook, Ledger, SHARED};
use crate::chunk::{Segment, head};
use crate::sync::Ordering;
use crate::sync::barrier;
use crate::{Policy, Statistics, file};

impl Ledger {
    /// Takes back what other threads were granted and have not used, for a desk that needs room. Says whether there was any.
    pub(crate) fn reclaim(&mut self, desk: usize) -> bool {
        let holders = self.holders().filter(|(other, keeper, hold)| {
            *other != desk && !keeper.reserved && hold.granted > self.fill(hold).payload()
        });
        let others: Vec<usize> = holders.map(|(other, ..)| other).collect();
        self.shut_out(&others);
        others.iter().map(|&other| self.return_grant(other)).sum::<usize>() > 0
    }

    /// Takes back what a desk does not use of its grant; says how much. Its thread is shut out.
    pub(super) fn return_grant(&mut self, desk: usize) -> usize {
        let Some(hold) = self.desks[desk].hold else { return 0 };
        let unused = hold.granted - self.fill(&hold).payload();
        self.free_room += unused;
        if let Some(hold) = &mut self.desks[desk].hold {
            hold.granted -= unused;
        }
        unused
    }

    /// Seals the chunks of these desks, whatever their threads are doing.
    pub(super) fn take_away(&mut self, desks: &[usize]) {
        self.shut_out(desks);
        for &desk in desks {
            self.seal(desk);
        }
    }

    /// Makes every thread's next record take the lock; when this returns, none is writing without it.
    pub(crate) fn shut_all_out(&mut self) {
        let desks: Vec<usize> = self.holders().map(|(desk, ..)| desk).collect();
        self.shut_out(&desks);
    }

    pub(super) fn shut_out(&mut self, desks: &[usize]) {
        let has_owner = |desk: usize| desk != SHARED && !self.desks[desk].is_vacant();
        if !desks.iter().any(|&desk| has_owner(desk)) {
            return;
        }
        for &desk in desks {
            self.desks[desk].writer.set_limit(0);
        }
        barrier::heavy();
        for &desk in desks {
            self.desks[desk].writer.shut_out();
        }
    }

    /// `Overwrite`: drops the oldest records, a chunk's share or so. Says whether there were any.
    pub(crate) fn drop_oldest(&mut self) -> bool {
        if self.queue.is_empty() {
            let desks: Vec<usize> = self.holders().map(|(desk, ..)| desk).collect();
            for desk in desks {
                self.queue_up(desk, false);
            }
        }
        self.drop_from_queue(self.share())
    }

    /// `Overwrite`: drops what a buffer of this size does not hold.
    pub(super) fn trim(&mut self) {
        let waiting = (self.queued - self.unqueued) as usize;
        if self.policy == Policy::Overwrite && waiting > self.region.geometry().size {
            self.drop_from_queue(waiting - self.region.geometry().size);
        }
    }

    /// Drops the oldest records that make up so many bytes.
    fn drop_from_queue(&mut self, bytes: usize) -> bool {
        let mut left = bytes;
        while left > 0 {
            let Some(stretch) = self.queue.front().copied() else { break };
            let chunk = self.region.chunk(stretch.chunk);
            let taken = self.chunks[stretch.chunk].cursor.take(&chunk, stretch.upto, left);
            if let Some(taken) = taken {
                left = left.saturating_sub(taken.bytes());
                self.counts.of(taken.segment).dropped += taken.count as u64;
                let position = self.chunks[stretch.chunk].cursor.position;
                chunk.word(head::DELIVERED).store(position as u64, Ordering::Relaxed);
                self.free_room += taken.bytes();
                self.unqueue(taken.bytes());
            }
            self.retire_empty();
            if taken.is_none() && self.queue.front().is_some_and(|front| front.chunk == stretch.chunk) {
                break;
            }
        }
        file::note_dropped(&self.region, self.counts.dropped());
        self.since_cut = self.since_cut.min((self.queued - self.unqueued) as usize);
        left < bytes
    }

    /// Counts bytes as gone from the front of the queue.
    pub(super) fn unqueue(&mut self, bytes: usize) {
        self.unqueued += bytes as u64;
        if let Some(front) = self.queue.front_mut() {
            front.payload -= bytes;
        }
    }

    /// Drops stretches from the queue that hold nothing any more, and frees their chunks.
    pub(super) fn retire_empty(&mut self) {
        while let Some(stretch) = self.queue.front().copied().filter(|stretch| stretch.payload == 0) {
            self.queue.pop_front();
            if stretch.last {
                self.chunks[stretch.chunk].finished = true;
                self.recycle(stretch.chunk);
            }
        }
    }

    /// Frees a chunk that nobody writes to, waits in, or reads.
    pub(super) fn recycle(&mut self, index: usize) {
        let book = &mut self.chunks[index];
        if book.finished && !book.in_delivery {
            *book = ChunkBook { last_desk: book.last_desk, ..ChunkBook::empty() };
            let chunk = self.region.chunk(index);
            chunk.word(head::SEQUENCE).store(0, Ordering::Relaxed);
            chunk.committed().store(0, Ordering::Release);
            self.free_chunks.push_front(index);
        }
    }

    /// `Discard`: counts a record that does not fit, and closes the buffer.
    pub(crate) fn discard(&mut self, header: u64) {
        self.closed = self.policy == Policy::Discard;
        self.count_dropped(header);
    }

    /// Counts a record that did not get in.
    pub(crate) fn count_dropped(&mut self, header: u64) {
        self.counts.of(Segment(header)).dropped += 1;
        file::note_dropped(&self.region, self.counts.dropped());
    }

    /// `Discard`: a buffer without room for the smallest record is closed.
    pub(super) fn close_if_full(&mut self) {
        if self.policy == Policy::Discard && self.free_room == 0 && !self.closed {
            let all_used = self.holders().all(|(_, _, hold)| hold.granted == self.fill(hold).payload());
            self.closed = all_used;
        }
    }

    /// Room that a callback has made.
    pub(super) fn give_back(&mut self, bytes: usize) {
        if self.closed {
            self.withheld += bytes;
        } else {
            self.free_room += bytes;
        }
    }

    /// Opens a closed buffer.
    pub(super) fn reopen(&mut self) {
        self.closed = false;
        self.free_room += std::mem::take(&mut self.withheld);
    }

    /// Adds what the books know to statistics.
    pub(crate) fn count_into(&mut self, statistics: &mut Statistics) {
        for desk in self.holders().map(|(desk, ..)| desk).collect::<Vec<_>>() {
            self.queue_up(desk, false);
        }
        self.trim();
        for (kind, counts) in self.counts.iter() {
            *statistics.kinds.entry(kind).or_default() = counts;
        }
        for (kind, counts) in self.in_delivery.iter() {
            statistics.kinds.entry(kind).or_default().waiting += counts.waiting;
        }
        let mut cursors = self.chunks.clone();
        for stretch in &self.queue {
            let chunk = self.region.chunk(stretch.chunk);
            while let Some(taken) = cursors[stretch.chunk].cursor.take(&chunk, stretch.upto, usize::MAX) {
                let header = taken.segment.header();
                statistics.kinds.entry((header.category, header.kind)).or_default().waiting += taken.count as u64;
            }
        }
        for counts in statistics.kinds.values_mut() {
            counts.emitted = counts.delivered + counts.dropped + counts.waiting;
        }
    }
}
