use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::PoisonError;

use super::Inner;
use crate::Batch;
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
            state.delivering = true;
            drop(state);
            let panicked = self.call_back(cut);
            state = self.lock();
            state.delivering = false;
            state.ledger.finish(cut);
            state.meters.callbacks += 1;
            state.meters.panics += u64::from(panicked);
            state.meters.bytes.add(cut.payload);
            if state.room_waiters > 0 {
                self.room.notify_all();
            }
        }
        if state.ledger.has_work() {
            state = self.schedule(state);
        } else if state.ledger.destroyed && !state.ended {
            state.ended = true;
            state.thread.clone().leave(self);
            self.done.notify_all();
            drop(state);
            // The callback may hold a handle of this very buffer.
            drop(self.callback.lock().unwrap_or_else(PoisonError::into_inner).take());
            return;
        }
        if state.done_waiters > 0 && state.ledger.flushes.done > before {
            self.done.notify_all();
        }
    }

    /// Says whether the callback panicked.
    fn call_back(&self, cut: &Cut) -> bool {
        let mut callback = self.callback.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(callback) = callback.as_mut() else { return false };
        let batch = Batch::new(self.id(), cut);
        catch_unwind(AssertUnwindSafe(|| callback(&batch))).is_err()
    }
}
