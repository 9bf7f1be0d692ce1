use std::sync::Arc;
use std::time::Instant;

use crate::buffer::SharedBuffer;
use crate::buffer::shared::Protected;
use crate::sync::MutexGuard;
use crate::{TraceError, file};

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
