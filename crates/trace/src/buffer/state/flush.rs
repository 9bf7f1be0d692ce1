use super::BufferState;

/// The flushes of a buffer, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Flushes {
    requested: u64,
    /// The last one that opens a closed buffer; 0 if there is none to do.
    explicit: u64,
    /// The last one that calls the callback even if there is nothing to deliver; 0 if there was none.
    with_callback: u64,
    begun: u64,
    done: u64,
    /// The payload that must have left the queue for the begun one to be done.
    target: u64,
}

impl BufferState {
    /// Requests that everything in the buffer is delivered. Returns the flush's number, see
    /// [`flushes_done`](Self::flushes_done). An `explicit` flush opens a closed buffer.
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

    /// Returns whether the begun flush has to call the callback, whatever there is to deliver.
    pub(super) fn flush_wants_callback(&self) -> bool {
        let begun = self.flushes.done + 1..=self.flushes.begun;
        let tells_drops = || self.told_drops.is_some_and(|told| told < self.counts.dropped());
        begun.contains(&self.flushes.with_callback) || (!begun.is_empty() && tells_drops())
    }

    /// Returns the payload at the front of the queue that the begun flush has to deliver.
    pub(super) fn payload_to_flush(&self) -> usize {
        self.flushes.target.saturating_sub(self.dequeued) as usize
    }

    /// Begins the requested flush, once the one before is done: enqueues everything that was emitted.
    pub(super) fn begin_flush(&mut self) {
        let underway = self.flushes.begun > self.flushes.done;
        if underway || self.flushes.begun == self.flushes.requested {
            return;
        }
        let mut idle = Vec::new();
        for slot in 0..self.slots.len() {
            let nothing_new = self.enqueue(slot, false) == 0;
            if let Some(lease) = self.slots[slot].lease.as_mut() {
                // A thread that emitted nothing between two flushes loses its chunk.
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

    /// Notes that a flush is done: what it had to deliver left the queue, and its callback has returned.
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
