//! Putting a buffer on the list of its callback thread, and moving it to another callback thread.

use std::sync::Arc;
use std::time::Duration;

use crate::TraceError;
use crate::buffer::shared::Protected;
use crate::buffer::{BufferOptions, CallbackThread, SharedBuffer};
use crate::sync::MutexGuard;

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
