//! Delivers records: puts a buffer on its thread's list, calls the callback, and ends the buffer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::callback_thread::{Served, with_signals};
use super::shared::{Callback, Protected};
use super::state::NextBatch;
use super::{Batch, BufferOptions, CallbackThread, SharedBuffer};
use crate::sync::MutexGuard;
use crate::{TraceError, file};

impl Served for SharedBuffer {
    #[allow(unsafe_code)]
    fn deliver(self: Arc<Self>, batch: &mut NextBatch) {
        let mut locked = self.lock();
        locked.scheduled = false;
        if locked.delivering {
            // The buffer was assigned to this thread while a callback runs on another one. When that callback has
            // returned, the buffer is scheduled here again.
            return;
        }
        // A fork takes precedence over the next batch. If it did not, it could wait for one callback after another.
        while locked.fork_waiters > 0 {
            locked = self.done.wait(locked);
        }
        let flushes_before = locked.state.flushes_done();
        // SAFETY: the batch is read in the callback below, before `finish`. The buffer keeps its region until then, and
        // so does the child if the callback forks.
        if unsafe { locked.state.take_next_batch(batch) } {
            let forks = locked.forks;
            locked.delivering = true;
            let callback = locked.callback.take();
            drop(locked);
            let (callback, panicked) = self.call_back(callback, batch);
            locked = self.lock();
            if locked.forks != forks {
                // The callback has forked, and this is the child. The batch belongs to the parent. The callback is dropped
                // without the lock, because it may own a handle of this very buffer.
                drop(locked);
                drop(callback);
                return;
            }
            locked.delivering = false;
            locked.callback = callback;
            locked.state.finish(batch);
            file::note_delivered(locked.state.region(), locked.state.delivered());
            locked.statistics.callbacks += 1;
            locked.statistics.panics += u64::from(panicked);
            locked.statistics.bytes.add(batch.payload);
        }
        locked.notify_of_space(&self.space);
        let flushed = locked.flush_waiters > 0 && locked.state.flushes_done() > flushes_before;
        let notify = flushed || locked.fork_waiters > 0;
        if locked.state.has_work() {
            self.schedule(locked);
        } else if locked.state.is_destroyed() && !locked.ended {
            self.end(locked);
        } else {
            drop(locked);
        }
        if notify {
            self.done.notify_all();
        }
    }

    fn flush_later(self: Arc<Self>) {
        let mut locked = self.lock();
        locked.state.request_flush(false);
        self.schedule(locked);
    }
}

impl SharedBuffer {
    /// Calls the callback. Returns it, and whether it panicked.
    fn call_back(&self, callback: Option<Callback>, batch: &NextBatch) -> (Option<Callback>, bool) {
        let Some(mut callback) = callback else { return (None, false) };
        let batch = Batch::new(self.id(), batch);
        let panicked = catch_unwind(AssertUnwindSafe(|| with_signals(|| callback(&batch)))).is_err();
        (Some(callback), panicked)
    }
}

impl SharedBuffer {
    /// Starts the callback thread. From now on the buffer may be scheduled.
    pub(in crate::buffer) fn begin_delivery(self: &Arc<Self>) -> Result<(), TraceError> {
        let BufferOptions { thread, interval, .. } = self.options();
        thread.serve(self, *interval)
    }

    /// Changes the interval at which the buffer is flushed.
    pub(in crate::buffer) fn set_interval(self: &Arc<Self>, interval: Option<Duration>) -> Result<(), TraceError> {
        let mut locked = self.lock();
        if locked.interval == interval {
            // The interval is unchanged, so the time since the last flush still counts.
            return Ok(());
        }
        locked.interval = interval;
        let thread = locked.callback_thread.clone();
        drop(locked);
        thread.end_interval(self);
        // Without a thread there is no interval, so that the caller may set the same one again.
        thread.serve(self, interval).inspect_err(|_| self.lock().interval = None)
    }

    /// Puts the buffer on its callback thread's list. Releases the lock before it wakes the thread, because the thread
    /// takes it at once.
    pub(in crate::buffer) fn schedule(self: &Arc<Self>, mut locked: MutexGuard<'_, Protected>) {
        if !std::mem::replace(&mut locked.scheduled, true) {
            let thread = locked.callback_thread.clone();
            drop(locked);
            thread.schedule(self.clone());
        }
    }

    /// As [`schedule`](Self::schedule), but only if a callback became due.
    pub(in crate::buffer) fn schedule_if_due(self: &Arc<Self>, mut locked: MutexGuard<'_, Protected>) {
        if locked.state.take_callback_due() {
            self.schedule(locked);
        }
    }

    /// Moves the buffer to another callback thread.
    pub(in crate::buffer) fn assign(self: &Arc<Self>, thread: &CallbackThread) -> Result<(), TraceError> {
        // The lock is not held during the call, because a hook for the creation of threads may use the buffer.
        let interval = self.lock().interval;
        thread.serve(self, interval)?;
        let mut locked = self.lock();
        if locked.state.is_destroyed() {
            drop(locked);
            thread.stop_serving(self);
            return Err(TraceError::BufferDestroyed(self.id()));
        }
        let before = std::mem::replace(&mut locked.callback_thread, thread.clone());
        before.stop_serving(self);
        // If the buffer was on the old thread's list, it is now on the new one's.
        locked.scheduled = false;
        self.schedule(locked);
        Ok(())
    }
}

impl SharedBuffer {
    /// Delivers everything that was emitted before. Returns when it is delivered or the timeout has passed.
    pub(in crate::buffer) fn flush(self: &Arc<Self>, timeout: Option<Duration>) -> Result<(), TraceError> {
        // A timeout that is too long for the clock means no deadline.
        let deadline = timeout.and_then(|timeout| self.clock().after(timeout));
        let mut locked = self.lock();
        if locked.state.is_destroyed() {
            return Err(TraceError::BufferDestroyed(self.id()));
        }
        let _wait = locked.callback_thread.begin_wait().ok_or(TraceError::Busy(self.id()))?;
        let number = locked.state.request_flush(true);
        self.schedule(locked);
        let is_flushed = |locked: &Protected| locked.state.flushes_done() >= number || locked.ended;
        if self.wait_until(deadline, is_flushed) { Ok(()) } else { Err(TraceError::TimedOut(self.id())) }
    }

    /// Requests the delivery of everything that was emitted before. The callback is called even if nothing was.
    pub(in crate::buffer) fn request_callback(self: &Arc<Self>) -> Result<(), TraceError> {
        let mut locked = self.lock();
        if locked.state.is_destroyed() {
            return Err(TraceError::BufferDestroyed(self.id()));
        }
        locked.state.request_callback();
        self.schedule(locked);
        Ok(())
    }

    /// Waits until a condition holds, at most until the deadline. Returns whether it holds.
    fn wait_until(&self, deadline: Option<Instant>, holds: impl Fn(&Protected) -> bool) -> bool {
        let mut locked = self.lock();
        while !holds(&locked) {
            if deadline.is_some_and(|deadline| self.clock().has_come(deadline)) {
                return false;
            }
            locked.flush_waiters += 1;
            locked = self.done.wait_until(self.clock(), locked, deadline);
            locked.flush_waiters -= 1;
        }
        true
    }
}

impl SharedBuffer {
    /// Destroys the buffer and waits until everything is delivered.
    pub(in crate::buffer) fn destroy(self: &Arc<Self>) -> Result<(), TraceError> {
        self.begin_destroy()?;
        self.await_end(None);
        Ok(())
    }

    /// Refuses records from now on, and requests the delivery of everything in the buffer.
    pub(in crate::buffer) fn begin_destroy(self: &Arc<Self>) -> Result<(), TraceError> {
        let mut locked = self.lock();
        if locked.state.is_destroyed() {
            return Err(TraceError::BufferDestroyed(self.id()));
        }
        locked.state.set_destroyed();
        drop(locked);
        // From here on no context traces into this buffer.
        self.notify_owner();
        locked = self.lock();
        locked.state.lock_all_out();
        locked.state.request_flush(true);
        locked.notify_of_space(&self.space);
        self.schedule(locked);
        Ok(())
    }

    /// Waits until everything is delivered, and returns whether it is. Returns at once if it would wait for itself.
    pub(in crate::buffer) fn await_end(&self, deadline: Option<Instant>) -> bool {
        let locked = self.lock();
        let Some(_wait) = locked.callback_thread.begin_wait() else { return locked.ended };
        drop(locked);
        self.wait_until(deadline, |locked| locked.ended)
    }

    /// Ends a destroyed buffer that has delivered everything.
    pub(in crate::buffer) fn end(self: &Arc<Self>, mut locked: MutexGuard<'_, Protected>) {
        locked.ended = true;
        file::note_end(locked.state.region(), self.id());
        let thread = locked.callback_thread.clone();
        let callback = locked.callback.take();
        drop(locked);
        thread.stop_serving(self);
        self.done.notify_all();
        // Dropped without the lock: the callback may own a handle of this very buffer.
        drop(callback);
    }
}
