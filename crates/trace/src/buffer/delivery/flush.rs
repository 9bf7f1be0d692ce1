use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::TraceError;
use crate::buffer::SharedBuffer;
use crate::buffer::shared::Protected;

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
    pub(super) fn wait_until(&self, deadline: Option<Instant>, holds: impl Fn(&Protected) -> bool) -> bool {
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
