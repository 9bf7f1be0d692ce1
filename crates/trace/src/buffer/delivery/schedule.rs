//! When the callback thread looks at a buffer, and which thread that is.

use std::sync::{Arc, MutexGuard};

use super::CallbackThread;
use crate::TraceError;
use crate::buffer::SharedBuffer;
use crate::buffer::shared::Protected;

impl SharedBuffer {
    /// Puts the buffer on its callback thread's list. The thread is woken after the lock is released, because it needs the
    /// lock first.
    pub(in crate::buffer) fn schedule(self: &Arc<Self>, mut locked: MutexGuard<'_, Protected>) {
        if !std::mem::replace(&mut locked.scheduled, true) {
            let thread = locked.callback_thread.clone();
            drop(locked);
            thread.schedule(Arc::clone(self));
        }
    }

    /// As [`schedule`](Self::schedule), if a callback became due.
    pub(in crate::buffer) fn schedule_if_due(self: &Arc<Self>, mut locked: MutexGuard<'_, Protected>) {
        if locked.state.take_callback_due() {
            self.schedule(locked);
        }
    }

    /// Moves the buffer to another callback thread.
    pub(in crate::buffer) fn assign(self: &Arc<Self>, thread: &CallbackThread) -> Result<(), TraceError> {
        // Without the lock: a hook for the creation of threads may use the buffer.
        thread.serve(self)?;
        let mut locked = self.lock();
        if locked.state.is_destroyed() {
            drop(locked);
            thread.stop_serving(self);
            return Err(TraceError::BufferDestroyed(self.id()));
        }
        let before = std::mem::replace(&mut locked.callback_thread, thread.clone());
        before.stop_serving(self);
        // What the buffer was scheduled for on the old thread is done on the new one.
        locked.scheduled = false;
        self.schedule(locked);
        Ok(())
    }
}
