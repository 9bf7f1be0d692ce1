//! The flushes of a buffer.
//!
//! `Discard`: a buffer that could not take a record is closed until it is flushed explicitly. Space that is freed
//! meanwhile is withheld.

use super::BufferState;
use crate::chunk::{Policy, Segment};
use crate::file;

/// The flushes of a buffer, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Flushes {
    requested: u64,
    /// The last flush that reopens a closed buffer; 0 if none is pending.
    explicit: u64,
    /// The last flush that calls the callback even if there is nothing to deliver; 0 if there was none.
    with_callback: u64,
    begun: u64,
    done: u64,
    /// The flush that has begun is done when this much payload has left the queue.
    target: u64,
}

impl BufferState {
    /// Requests the delivery of everything in the buffer. Returns the flush's number, see
    /// [`flushes_done`](Self::flushes_done). An `explicit` flush reopens a closed buffer.
    pub(crate) fn request_flush(&mut self, explicit: bool) -> u64 {
        self.flushes.requested += 1;
        if explicit {
            self.flushes.explicit = self.flushes.requested;
        }
        self.flushes.requested
    }

    /// Requests a flush that calls the callback even if there is nothing to deliver.
    pub(crate) fn request_callback(&mut self) {
        self.flushes.with_callback = self.request_flush(false);
    }

    /// Returns the number of the last flush that is done.
    pub(crate) fn flushes_done(&self) -> u64 {
        self.flushes.done
    }

    pub(super) fn flush_is_requested(&self) -> bool {
        self.flushes.requested > self.flushes.done
    }

    /// Returns whether the flush that has begun has to call the callback even if there is nothing to deliver.
    pub(super) fn flush_wants_callback(&self) -> bool {
        let begun = self.flushes.done + 1..=self.flushes.begun;
        let reports_drops = || self.reported_drops.is_some_and(|reported| reported < self.counts.dropped());
        begun.contains(&self.flushes.with_callback) || (!begun.is_empty() && reports_drops())
    }

    /// Returns how much payload at the front of the queue the flush that has begun still has to deliver.
    pub(super) fn payload_to_flush(&self) -> usize {
        self.flushes.target.saturating_sub(self.dequeued) as usize
    }

    /// Begins the requested flush once the previous one is done: enqueues everything that was emitted.
    pub(super) fn begin_flush(&mut self) {
        let underway = self.flushes.begun > self.flushes.done;
        if underway || self.flushes.begun == self.flushes.requested {
            return;
        }
        let mut idle = Vec::new();
        for slot in 0..self.slots.len() {
            let nothing_new = self.enqueue(slot, false) == 0;
            if let Some(lease) = self.slots[slot].lease.as_mut() {
                // A thread of which two flushes in a row find nothing new loses its chunk.
                let was_idle = std::mem::replace(&mut lease.idle, nothing_new);
                if nothing_new && was_idle && !self.slots[slot].reserved {
                    idle.push(slot);
                }
            }
        }
        self.take_away(&idle);
        self.trim();
        self.flushes.begun = self.flushes.requested;
        self.flushes.target = self.enqueued;
        self.partial_batch = 0;
        self.callback_due = false;
    }

    /// Notes that a flush is done if its records have left the queue and its callback has returned.
    pub(super) fn end_flush(&mut self) {
        let delivered = self.dequeued >= self.flushes.target && self.in_callback.is_empty();
        if delivered && self.flushes.begun > self.flushes.done {
            self.flushes.done = self.flushes.begun;
            if self.flushes.explicit <= self.flushes.done && self.flushes.explicit > 0 {
                self.flushes.explicit = 0;
                self.reopen();
            }
        }
    }
}

impl BufferState {
    /// Counts a record that does not fit as dropped, and closes the buffer if its policy is `Discard`.
    pub(crate) fn discard(&mut self, header: u64) {
        self.closed = self.policy == Policy::Discard;
        self.count_dropped(header);
    }

    /// Counts a record as dropped.
    pub(crate) fn count_dropped(&mut self, header: u64) {
        self.count_dropped_times(header, 1);
    }

    /// Counts records as dropped.
    pub(crate) fn count_dropped_times(&mut self, header: u64, records: u64) {
        self.counts.of(Segment(header)).dropped += records;
        file::note_dropped(&self.region, self.counts.dropped());
    }

    /// Closes a buffer that has no space for the smallest record.
    pub(super) fn close_if_full(&mut self) {
        if self.policy == Policy::Discard && self.free_space == 0 && !self.closed {
            let all_used = self.leasing().all(|(_, _, lease)| lease.granted == self.fill(lease).payload());
            self.closed = all_used;
        }
    }

    /// Frees the space of records that a callback received.
    pub(super) fn free_delivered(&mut self, bytes: usize) {
        if self.closed {
            self.withheld += bytes;
        } else {
            self.free_space += bytes;
        }
    }

    /// Opens a closed buffer.
    pub(super) fn reopen(&mut self) {
        self.closed = false;
        self.free_space += std::mem::take(&mut self.withheld);
    }
}
