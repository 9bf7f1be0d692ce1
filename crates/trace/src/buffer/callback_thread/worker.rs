use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::queue::{Served, WorkerQueue};
use super::{deadlock, hooks, thread};
use crate::TraceError;
use crate::buffer::state::NextBatch;

/// What a callback thread and its handles share.
pub(in crate::buffer) struct Worker {
    number: u64,
    name: String,
    queue: Mutex<WorkerQueue>,
    wake: Condvar,
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
            hooks::around_creation(|| thread::spawn(&self.name, move || worker.run()))
                .map_err(|source| TraceError::System { what: "a callback thread", source })?;
            queue.running = true;
        }
        Ok(())
    }

    /// Resets the queue in the child of a fork.
    pub(in crate::buffer) fn reset_after_fork(&self, queue: &mut WorkerQueue) {
        queue.reset_after_fork(deadlock::this_thread() == self.number);
    }

    fn run(&self) {
        deadlock::set_this_thread(self.number);
        let mut batch = NextBatch::default();
        while let Some(buffer) = self.next() {
            buffer.deliver(&mut batch);
        }
    }

    /// Waits for the next buffer to look at. Returns `None` when the thread is to end.
    fn next(&self) -> Option<Arc<dyn Served>> {
        let mut queue = self.lock();
        loop {
            let due = queue.take_due();
            if !due.is_empty() {
                drop(queue);
                due.into_iter().for_each(Served::flush_later);
                queue = self.lock();
            }
            if let Some(buffer) = queue.pop() {
                return Some(buffer);
            }
            if queue.closing {
                return None;
            }
            queue.sleeping = true;
            queue = match queue.next_due() {
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
