use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::buffer::state::NextBatch;

/// What a callback thread serves: a buffer.
pub(in crate::buffer) trait Served: Send + Sync {
    /// Makes the next callback, on the callback thread. `batch` is lent for its memory.
    fn deliver(self: Arc<Self>, batch: &mut NextBatch);

    /// Requests that everything that was emitted is delivered, and does not wait for it.
    fn flush_later(self: Arc<Self>);
}

/// What a callback thread has to do.
#[derive(Default)]
pub(in crate::buffer) struct WorkerQueue {
    pub(super) running: bool,
    pub(super) sleeping: bool,
    /// The last handle was dropped.
    pub(super) closing: bool,
    /// Buffers to look at.
    ready: VecDeque<Arc<dyn Served>>,
    intervals: Vec<Interval>,
}

/// A buffer that is flushed from time to time.
struct Interval {
    next: Instant,
    length: Duration,
    buffer: Weak<dyn Served>,
}

impl WorkerQueue {
    /// Adds a buffer to look at. Returns whether the thread sleeps and must be woken.
    pub(super) fn push(&mut self, buffer: Arc<dyn Served>) -> bool {
        self.ready.push_back(buffer);
        self.sleeping
    }

    /// Removes the next buffer to look at.
    pub(super) fn pop(&mut self) -> Option<Arc<dyn Served>> {
        self.ready.pop_front()
    }

    pub(super) fn add_interval(&mut self, next: Instant, length: Duration, buffer: Weak<dyn Served>) {
        self.intervals.push(Interval { next, length, buffer });
    }

    /// Removes the interval of a buffer.
    pub(super) fn end_interval(&mut self, buffer: *const ()) {
        self.intervals.retain(|interval| !std::ptr::addr_eq(interval.buffer.as_ptr(), buffer));
    }

    /// Removes a buffer from the list and its interval.
    pub(super) fn remove(&mut self, buffer: *const ()) {
        self.end_interval(buffer);
        self.ready.retain(|other| !std::ptr::addr_eq(Arc::as_ptr(other), buffer));
    }

    /// Returns the buffers whose interval is over, and begins the next interval of each.
    pub(super) fn take_due(&mut self) -> Vec<Arc<dyn Served>> {
        if self.intervals.is_empty() {
            return Vec::new();
        }
        let now = Instant::now();
        let over = self.intervals.iter_mut().filter(|interval| interval.next <= now);
        over.filter_map(|interval| {
            interval.next = now + interval.length;
            interval.buffer.upgrade()
        })
        .collect()
    }

    /// Returns when the first interval is over.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.intervals.iter().map(|interval| interval.next).min()
    }

    /// Resets the queue in the child of a fork. `is_this_thread` says whether its thread is the one that forked, and so the
    /// only one that the child has.
    pub(super) fn reset_after_fork(&mut self, is_this_thread: bool) {
        self.running &= is_this_thread;
        self.sleeping = false;
        self.ready.clear();
        self.intervals.retain(|interval| interval.buffer.strong_count() > 0);
    }
}
