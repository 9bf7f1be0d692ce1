//! A stream: its queue, and the thread that does its work.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::thread::JoinHandle;
use std::time::Duration;

use opscope_sys::{Mutex, MutexGuard};

use super::program::Latch;
use super::queue::Queue;
use super::{as_callback, refuse_in_callback};
use crate::border::{Failure, codes};
use crate::forks::{count_forks, forks};
use crate::thread_context;

/// A queue of work that a thread does in order. The thread starts with the first work and ends with the stream.
pub struct Stream {
    id: i32,
    context: usize,
    queue: Arc<Queue>,
    worker: Mutex<Option<JoinHandle<()>>>,
}

impl Stream {
    /// Makes a stream in the context with this handle.
    pub fn new(id: i32, context: usize) -> Self {
        Self { id, context, queue: Arc::new(Queue::new()), worker: Mutex::new(None) }
    }

    /// Returns the number by which dumps name it.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// Returns the handle of its context.
    pub fn context(&self) -> usize {
        self.context
    }

    /// Queues work. If the work fails, the next synchronization returns the failure.
    ///
    /// # Errors
    /// Returns an error if the stream was destroyed, or if the system cannot start a thread for it.
    pub fn run(&self, work: impl FnOnce() -> Result<(), Failure> + Send + 'static) -> Result<(), Failure> {
        // This stays locked until the work is queued, so that all accepted work has a thread.
        let mut worker = self.worker();
        if worker.is_none() && self.queue.is_open() {
            let (queue, context) = (Arc::clone(&self.queue), self.context);
            let thread = thread::Builder::new().name(format!("acl-stream-{}", self.id));
            let started = thread.spawn(move || do_work(queue, context)).map_err(|error| {
                let text = format!("the system has no thread for a stream: {error}");
                Failure::new(codes::RT_NO_STREAM_RESOURCE, "EE1003", text)
            });
            *worker = Some(started?);
        }
        if self.queue.add(Box::new(work)) {
            return Ok(());
        }
        Err(Failure::wrong_value_of(codes::RT_PARAM_INVALID, "stream", self.id, "it was destroyed"))
    }

    /// Waits until the work that was queued so far is done.
    ///
    /// # Errors
    /// Returns the first failure of the work since the last synchronization, and the errors of `wait`.
    pub fn synchronize(&self, limit: Option<Duration>) -> Result<(), Failure> {
        self.wait(limit)?;
        self.queue.take_failure().map_or(Ok(()), Err)
    }

    /// Waits until the work that was queued so far is done, whether it fails or not.
    ///
    /// # Errors
    /// Returns an error if the time is over, or if the caller would wait for itself.
    pub fn wait(&self, limit: Option<Duration>) -> Result<(), Failure> {
        if self.queue.wait(limit)? {
            return Ok(());
        }
        let text = format!("stream {} still has work when the time to wait is over", self.id);
        Err(Failure::new(codes::RT_STREAM_SYNC_TIMEOUT, "EE1003", text))
    }

    /// Returns whether all work is done.
    pub fn is_idle(&self) -> bool {
        self.queue.is_idle()
    }

    /// Stores a failure for the next synchronization, if there is none yet.
    pub fn fail(&self, failure: Failure) {
        self.queue.fail(failure);
    }

    /// Sets whether a failure makes the stream skip the work after it. While it skips work, every synchronization
    /// returns the failure.
    pub fn stop_on_failure(&self, stops: bool) {
        self.queue.stop_on_failure(stops);
    }

    /// Waits, as work of this stream, until a thread of the program has run a callback. Returns whether it did.
    pub fn wait_for_program(&self, thread: u64, latch: &Arc<Latch>) -> bool {
        self.queue.wait_for_program(thread, latch)
    }

    /// Waits for the work that was queued so far, and ends the stream. Gives up callbacks that no thread takes within a
    /// second. A failure of the work does not prevent the end.
    ///
    /// # Errors
    /// Returns an error if the caller is a callback.
    pub fn end(&self) -> Result<(), Failure> {
        refuse_in_callback()?;
        self.queue.begin_to_end();
        self.wait(None)?;
        self.queue.close();
        let worker = self.worker().take();
        if let Some(worker) = worker {
            // The worker catches panics of the work.
            let _ = worker.join();
        }
        Ok(())
    }

    /// Drops the work that waits, and ends the stream once its current work is done.
    pub fn abort(&self) {
        self.queue.begin_to_end();
        self.queue.close();
        drop(self.worker().take());
    }

    fn worker(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.worker.lock()
    }
}

/// Does the work of a stream, in the stream's context, until the stream is closed.
fn do_work(queue: Arc<Queue>, context: usize) {
    count_forks();
    let before = forks();
    thread_context::set(context);
    while let Some(work) = queue.next() {
        let outcome = as_callback(|| catch_unwind(AssertUnwindSafe(work)));
        if forks() != before {
            // The work forked, and this is the child: the stream belongs to the parent, and its lock may be held
            // forever.
            std::mem::forget(queue);
            return;
        }
        let panicked = |_| Err(Failure::new(codes::INTERNAL_ERROR, "EE9999", "opscope failed in the work of a stream"));
        queue.finish(outcome.unwrap_or_else(panicked));
    }
}
