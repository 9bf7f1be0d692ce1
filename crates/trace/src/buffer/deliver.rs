use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, MutexGuard};

use super::inner::Callback;
use super::{Inner, State};
use crate::Batch;
use crate::buffer::state::Cut;
use crate::file;

impl Inner {
    /// Makes the next callback, on the callback thread. `cut` is lent for its memory.
    pub(crate) fn deliver(self: &Arc<Self>, cut: &mut Cut) {
        let mut state = self.lock();
        state.scheduled = false;
        if state.delivering {
            // The buffer was assigned to this thread while the other one is in a callback, and goes on here after it.
            return;
        }
        let before = state.ledger.flushes.done;
        if state.ledger.cut(cut) {
            let forks = state.forks;
            state.delivering = true;
            let callback = state.callback.take();
            drop(state);
            let (callback, panicked) = self.call_back(callback, cut);
            state = self.lock();
            if state.forks != forks {
                // The callback forked, and this is the child: what was in the batch is the parent's.
                return;
            }
            state.delivering = false;
            state.callback = callback;
            state.ledger.finish(cut);
            file::note_delivered(state.ledger.region(), state.ledger.delivered());
            state.meters.callbacks += 1;
            state.meters.panics += u64::from(panicked);
            state.meters.bytes.add(cut.payload);
        }
        state.announce_room(&self.room);
        let told = state.idle_waiters > 0 || (state.done_waiters > 0 && state.ledger.flushes.done > before);
        if state.ledger.has_work() {
            self.schedule(state);
        } else if state.ledger.destroyed && !state.ended {
            self.end(state);
        } else {
            drop(state);
        }
        if told {
            self.done.notify_all();
        }
    }

    /// Everything is delivered, and nothing will follow.
    fn end(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        state.ended = true;
        file::note_end(state.ledger.region(), self.id());
        let thread = state.thread.clone();
        let callback = state.callback.take();
        drop(state);
        thread.leave(self);
        self.done.notify_all();
        // Now, without the lock: the callback may hold a handle of this very buffer.
        drop(callback);
    }

    /// Calls back; gives the callback again, and says whether it panicked.
    fn call_back(&self, callback: Option<Callback>, cut: &Cut) -> (Option<Callback>, bool) {
        let Some(mut callback) = callback else { return (None, false) };
        let batch = Batch::new(self.id(), cut);
        let panicked = catch_unwind(AssertUnwindSafe(|| callback(&batch))).is_err();
        (Some(callback), panicked)
    }
}
