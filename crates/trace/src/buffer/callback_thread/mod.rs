//! The threads that call callbacks. They know buffers only as [`Served`], because buffers lie above this module.

pub(in crate::buffer) mod deadlock;
pub(in crate::buffer) mod hooks;
mod queue;
#[allow(unsafe_code)]
mod thread;
mod worker;
pub(in crate::buffer) mod workers;

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use opscope_clock::Clock;

pub use hooks::on_callback_thread_creation;
pub(in crate::buffer) use queue::{Served, WorkerQueue};
pub(in crate::buffer) use thread::with_signals;
pub(in crate::buffer) use worker::Worker;

use crate::TraceError;
use crate::record::current_thread;
use deadlock::Wait;

/// A thread that calls the callbacks of buffers. A slow callback delays only the buffers of its own thread.
#[derive(Clone)]
pub struct CallbackThread {
    handle: Arc<Handle>,
}

/// Ends the thread when the last handle is dropped.
struct Handle(Arc<Worker>);

impl CallbackThread {
    /// Returns the default thread, which serves all buffers that do not name another one.
    pub fn shared() -> Self {
        static SHARED: OnceLock<CallbackThread> = OnceLock::new();
        SHARED.get_or_init(|| Self::create("opscope-callbacks")).clone()
    }

    /// Creates a thread. It starts when it is given its first buffer, or by [`start`](Self::start). It ends when its
    /// last handle is dropped and its last buffer is destroyed.
    pub fn create(name: &str) -> Self {
        Self::with_clock(name, Clock::system())
    }

    /// Creates a thread that measures its intervals, and the timeouts of its buffers, by this clock: for tests and
    /// simulated time.
    pub fn with_clock(name: &str, clock: Clock) -> Self {
        let worker = Arc::new(Worker::new(name, clock));
        let sleeper: Weak<Worker> = Arc::downgrade(&worker);
        worker.clock().register(sleeper);
        workers::add(&worker);
        Self { handle: Arc::new(Handle(worker)) }
    }

    /// Returns the clock by which its intervals are measured.
    pub(in crate::buffer) fn clock(&self) -> &Clock {
        self.handle.0.clock()
    }

    /// Starts the thread now, if it is not running.
    ///
    /// # Errors
    /// Returns an error if the system refuses a thread.
    pub fn start(&self) -> Result<(), TraceError> {
        self.handle.0.start()
    }

    /// Returns its number within the process.
    pub fn number(&self) -> u64 {
        self.handle.0.number()
    }

    /// Starts the thread if it is not running. From now on this buffer may be scheduled on it and is flushed at each
    /// interval.
    pub(in crate::buffer) fn serve(
        &self,
        buffer: &Arc<impl Served + 'static>,
        interval: Option<Duration>,
    ) -> Result<(), TraceError> {
        let worker = &self.handle.0;
        worker.start()?;
        if let Some(interval) = interval
            && let Some(next) = worker.clock().after(interval)
        {
            let buffer = Arc::downgrade(buffer);
            worker.lock().add_interval(next, interval, buffer);
            worker.wake();
        }
        Ok(())
    }

    /// Starts the thread if it is not running, for example in the child of a fork. If that fails, the next record tries
    /// again.
    pub(in crate::buffer) fn ensure_running(&self) {
        let _ = self.handle.0.start();
    }

    /// Ends the interval at which this buffer is flushed.
    pub(in crate::buffer) fn end_interval(&self, buffer: &Arc<impl Served>) {
        self.handle.0.lock().end_interval(Arc::as_ptr(buffer).cast());
    }

    /// Removes this buffer from the thread.
    pub(in crate::buffer) fn stop_serving(&self, buffer: &Arc<impl Served>) {
        self.handle.0.lock().remove(Arc::as_ptr(buffer).cast());
    }

    /// Puts a buffer on the thread's list, and wakes the thread if it sleeps.
    pub(in crate::buffer) fn schedule(&self, buffer: Arc<dyn Served>) {
        let worker = &self.handle.0;
        let caller = current_thread();
        let mut queue = worker.lock();
        let is_claimed = queue.claim_start(caller);
        let is_asleep = queue.push(buffer);
        drop(queue);
        if is_claimed {
            // If that fails, the next record tries again.
            let _ = worker.start_claimed();
        } else if is_asleep {
            worker.wake();
        }
    }

    /// Returns whether this thread is the calling one.
    pub(in crate::buffer) fn is_current(&self) -> bool {
        deadlock::this_thread() == self.number()
    }

    /// Begins to wait for this thread. Returns `None` if the wait would never end.
    ///
    /// That is also the case if a hook calls this on the very thread that is starting this one.
    pub(in crate::buffer) fn begin_wait(&self) -> Option<Wait> {
        let caller = current_thread();
        if self.handle.0.lock().is_started_by(caller) {
            return None;
        }
        deadlock::begin_wait(self.number())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl fmt::Debug for CallbackThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallbackThread").field("number", &self.number()).field("name", &self.handle.0.name()).finish()
    }
}
