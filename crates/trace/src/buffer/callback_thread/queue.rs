use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use opscope_clock::{Clock, Sleeper};

use crate::buffer::state::NextBatch;
use crate::record::ThreadId;

/// A buffer, as the callback thread that serves it sees it.
pub(in crate::buffer) trait Served: Sleeper {
    /// Makes the next callback, on the callback thread. The memory of `batch` is reused.
    fn deliver(self: Arc<Self>, batch: &mut NextBatch);

    /// Requests the delivery of everything that was emitted, without waiting for it.
    fn flush_later(self: Arc<Self>);
}

/// The number of buffers for which the list has memory from the beginning, so that emitting allocates nothing.
const READY: usize = 64;

/// The work of a callback thread.
pub(in crate::buffer) struct WorkerQueue {
    /// Whether the thread is running, or being started by another one.
    pub(super) running: bool,
    /// The thread that is starting it.
    starter: Option<ThreadId>,
    pub(super) sleeping: bool,
    /// Whether the last handle was dropped.
    pub(super) closing: bool,
    /// The buffers that are due.
    ready: VecDeque<Arc<dyn Served>>,
    intervals: Vec<Interval>,
}

/// A buffer that is flushed at an interval.
struct Interval {
    next: Instant,
    length: Duration,
    buffer: Weak<dyn Served>,
}

impl Default for WorkerQueue {
    fn default() -> Self {
        let ready = VecDeque::with_capacity(READY);
        Self { running: false, starter: None, sleeping: false, closing: false, ready, intervals: Vec::new() }
    }
}

impl WorkerQueue {
    /// Returns whether the caller has to start the thread: it is not running, and no other thread is starting it.
    pub(super) fn claim_start(&mut self, caller: ThreadId) -> bool {
        let is_claimed = !std::mem::replace(&mut self.running, true);
        if is_claimed {
            self.starter = Some(caller);
        }
        is_claimed
    }

    /// Returns whether the caller is starting it.
    pub(super) fn is_started_by(&self, caller: ThreadId) -> bool {
        self.starter == Some(caller)
    }

    /// Ends the start that was claimed.
    pub(super) fn end_start(&mut self, is_running: bool) {
        self.running = is_running;
        self.starter = None;
    }

    /// Adds a buffer that is due. Returns whether the thread sleeps and must be woken.
    pub(super) fn push(&mut self, buffer: Arc<dyn Served>) -> bool {
        self.ready.push_back(buffer);
        self.sleeping
    }

    /// Removes the next buffer that is due.
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

    /// Removes a buffer from the list, and its interval.
    pub(super) fn remove(&mut self, buffer: *const ()) {
        self.end_interval(buffer);
        self.ready.retain(|other| !std::ptr::addr_eq(Arc::as_ptr(other), buffer));
    }

    /// Returns the buffers whose interval has passed, and begins the next interval of each.
    pub(super) fn take_due(&mut self, clock: &Clock) -> Vec<Arc<dyn Served>> {
        if self.intervals.is_empty() {
            return Vec::new();
        }
        let now = clock.now();
        let over = self.intervals.iter_mut().filter(|interval| interval.next <= now);
        over.filter_map(|interval| {
            interval.next = now + interval.length;
            interval.buffer.upgrade()
        })
        .collect()
    }

    /// Returns when the first interval ends.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.intervals.iter().map(|interval| interval.next).min()
    }

    /// Resets the queue in the child of a fork. `is_this_thread` says whether its thread is the one that forked, and
    /// therefore the only one that the child has.
    pub(super) fn reset_after_fork(&mut self, is_this_thread: bool) {
        self.running &= is_this_thread;
        self.starter = None;
        self.sleeping = false;
        self.ready.clear();
        self.intervals.retain(|interval| interval.buffer.strong_count() > 0);
    }
}
