use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::Inner;
use super::inner::Callback;
use crate::Batch;
use crate::file;
use crate::ledger::Cut;

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
            let (delivered, dropped) = state.ledger.progress();
            file::note_progress(state.ledger.region(), delivered, dropped);
            state.meters.callbacks += 1;
            state.meters.panics += u64::from(panicked);
            state.meters.bytes.add(cut.payload);
        }
        if state.room_waiters > 0 {
            self.room.notify_all();
        }
        if state.ledger.has_work() {
            state = self.schedule(state);
        } else if state.ledger.destroyed && !state.ended {
            state.ended = true;
            file::note_end(state.ledger.region(), self.id());
            state.thread.clone().leave(self);
            self.done.notify_all();
            let callback = state.callback.take();
            drop(state);
            // The callback may hold a handle of this very buffer.
            drop(callback);
            return;
        }
        if state.done_waiters > 0 && state.ledger.flushes.done > before {
            self.done.notify_all();
        }
    }

    /// Calls back; gives the callback again, and says whether it panicked.
    fn call_back(&self, callback: Option<Callback>, cut: &Cut) -> (Option<Callback>, bool) {
        let Some(mut callback) = callback else { return (None, false) };
        let batch = Batch::new(self.id(), cut);
        let panicked = catch_unwind(AssertUnwindSafe(|| callback(&batch))).is_err();
        (Some(callback), panicked)
    }
}
