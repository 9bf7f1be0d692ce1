//! Delivers records: puts a buffer on its thread's list, calls the callback, and ends the buffer.

mod destroy;
mod flush;
mod schedule;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::callback_thread::{Served, with_signals};
use super::shared::Callback;
use super::state::NextBatch;
use super::{Batch, SharedBuffer};
use crate::file;

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
                // The callback has forked, and this is the child. The batch belongs to the parent.
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
