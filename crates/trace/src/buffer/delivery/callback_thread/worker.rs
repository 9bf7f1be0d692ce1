use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::{deadlock, hooks};
use crate::TraceError;
use crate::buffer::SharedBuffer;
use crate::buffer::state::NextBatch;

/// What a callback thread and its handles share.
pub(in crate::buffer) struct Worker {
    number: u64,
    name: String,
    queue: Mutex<WorkerQueue>,
    wake: Condvar,
}

/// What a callback thread has to do.
#[derive(Default)]
pub(in crate::buffer) struct WorkerQueue {
    running: bool,
    sleeping: bool,
    /// There is no handle any more.
    closing: bool,
    /// Buffers to look at.
    ready: VecDeque<Arc<SharedBuffer>>,
    intervals: Vec<Interval>,
}

/// A buffer that is flushed from time to time.
struct Interval {
    next: Instant,
    length: Duration,
    buffer: Weak<SharedBuffer>,
}

impl Worker {
    pub(super) fn new(name: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { number, name: name.to_owned(), queue: Mutex::default(), wake: Condvar::new() }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(in crate::buffer) fn lock(&self) -> MutexGuard<'_, WorkerQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Ends the thread once its list is empty.
    pub(super) fn close(&self) {
        self.lock().closing = true;
        self.wake();
    }

    /// Starts the thread if it is not running.
    pub(super) fn start(self: &Arc<Self>, queue: &mut WorkerQueue) -> Result<(), TraceError> {
        if !queue.running {
            let worker = Arc::clone(self);
            hooks::around_creation(|| thread::Builder::new().name(self.name.clone()).spawn(move || worker.run()))
                .map_err(|source| TraceError::System { what: "a callback thread", source })?;
            queue.running = true;
        }
        Ok(())
    }

    /// Makes the queue the child's own, after a fork. The thread is the parent's, unless it is the one that forked.
    pub(in crate::buffer) fn reset_after_fork(&self, queue: &mut WorkerQueue) {
        queue.running &= deadlock::this_thread() == self.number;
        queue.sleeping = false;
        queue.ready.clear();
        queue.intervals.retain(|interval| interval.buffer.strong_count() > 0);
    }

    fn run(&self) {
        deadlock::set_this_thread(self.number);
        let mut batch = NextBatch::default();
        while let Some(buffer) = self.next() {
            buffer.deliver(&mut batch);
        }
    }

    /// Waits for the next buffer to look at. Returns `None` when the thread is to end.
    fn next(&self) -> Option<Arc<SharedBuffer>> {
        let mut queue = self.lock();
        loop {
            let due = queue.take_due();
            if !due.is_empty() {
                drop(queue);
                due.iter().for_each(SharedBuffer::flush_later);
                queue = self.lock();
            }
            if let Some(buffer) = queue.ready.pop_front() {
                return Some(buffer);
            }
            if queue.closing {
                return None;
            }
            queue.sleeping = true;
            queue = match queue.intervals.iter().map(|interval| interval.next).min() {
                None => self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner),
                Some(next) => {
                    let left = next.saturating_duration_since(Instant::now());
                    self.wake.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
            queue.sleeping = false;
        }
    }
}

impl WorkerQueue {
    /// Adds a buffer to look at. Returns whether the thread sleeps and must be woken.
    pub(super) fn push(&mut self, buffer: Arc<SharedBuffer>) -> bool {
        self.ready.push_back(buffer);
        self.sleeping
    }

    pub(super) fn add_interval(&mut self, next: Instant, length: Duration, buffer: &Arc<SharedBuffer>) {
        self.intervals.push(Interval { next, length, buffer: Arc::downgrade(buffer) });
    }

    pub(super) fn remove(&mut self, buffer: &Arc<SharedBuffer>) {
        self.intervals.retain(|interval| !std::ptr::eq(interval.buffer.as_ptr(), Arc::as_ptr(buffer)));
        self.ready.retain(|other| !Arc::ptr_eq(other, buffer));
    }

    /// Returns the buffers whose interval is over, and begins the next interval of each.
    fn take_due(&mut self) -> Vec<Arc<SharedBuffer>> {
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
}
