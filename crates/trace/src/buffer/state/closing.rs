//! `Discard`: a buffer that could not take a record is closed until it is flushed explicitly. Space that is freed
//! meanwhile is withheld.

use super::BufferState;
use crate::chunk::{Policy, Segment};
use crate::file;

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
