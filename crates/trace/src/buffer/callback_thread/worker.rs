use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opscope_clock::{Clock, Sleeper};

use super::queue::{Served, WorkerQueue};
use super::{deadlock, hooks, thread};
use crate::TraceError;
use crate::buffer::state::NextBatch;
use crate::record::current_thread;
use crate::sync::{Condvar, Mutex, MutexGuard};

/// The state that a callback thread and its handles share.
pub(in crate::buffer) struct Worker {
    number: u64,
    name: String,
    /// The clock of the intervals.
    clock: Clock,
    queue: Mutex<WorkerQueue>,
    wake: Condvar,
}

impl Worker {
    pub(super) fn new(name: &str, clock: Clock) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { number, name: name.to_owned(), clock, queue: Mutex::default(), wake: Condvar::new() }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(in crate::buffer) fn lock(&self) -> MutexGuard<'_, WorkerQueue> {
        self.queue.lock()
    }

    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Makes the thread end once its list is empty.
    pub(super) fn close(&self) {
        self.lock().closing = true;
        self.wake();
    }

    /// Starts the thread if it is not running.
    pub(super) fn start(self: &Arc<Self>) -> Result<(), TraceError> {
        let caller = current_thread();
        let is_claimed = self.lock().claim_start(caller);
        if is_claimed { self.start_claimed() } else { Ok(()) }
    }

    /// Starts the thread that the caller has [claimed](WorkerQueue::claim_start). The hooks run without the lock,
    /// because they may use the buffers of this very thread.
    pub(super) fn start_claimed(self: &Arc<Self>) -> Result<(), TraceError> {
        let caller = current_thread();
        let spawned = hooks::around_creation(|| {
            let mut queue = self.lock();
            if !queue.is_started_by(caller) {
                // A hook has forked, and this is the child, which starts its thread with its first record.
                return Ok(());
            }
            let worker = Arc::clone(self);
            let spawned = thread::spawn(&self.name, move || worker.run());
            queue.end_start(spawned.is_ok());
            spawned
        });
        spawned.map_err(|source| TraceError::System { what: "a callback thread", source })
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

    /// Waits for the next buffer that is due. Returns `None` when the thread has to end.
    fn next(&self) -> Option<Arc<dyn Served>> {
        let mut queue = self.lock();
        loop {
            let due = queue.take_due(&self.clock);
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
            let next = queue.next_due();
            queue = self.wake.wait_until(&self.clock, queue, next);
            queue.sleeping = false;
        }
    }
}

impl Sleeper for Worker {
    fn wake_up(&self) {
        drop(self.lock());
        self.wake();
    }
}
