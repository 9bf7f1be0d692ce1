use std::sync::Arc;
use std::sync::PoisonError;
use std::time::Instant;

use super::Inner;
use crate::context::Service;
use crate::ledger::{Appended, SHARED};
use crate::{Policy, TraceError, local, waits};

impl Inner {
    /// Emits a record with the lock, and does what its policy says where there is no room. `service` is what asked for the
    /// record, if it was not the buffer's owner: once its context is stopped the record goes nowhere.
    #[cold]
    #[inline(never)]
    pub(crate) fn emit(
        self: &Arc<Self>,
        service: Option<&Service>,
        header: u64,
        payload: &[u8],
    ) -> Result<(), TraceError> {
        if payload.is_empty() {
            return Err(TraceError::EmptyRecord);
        }
        if payload.len() > self.longest() {
            return Err(TraceError::RecordTooLarge { length: payload.len(), limit: self.longest(), buffer: self.id() });
        }
        // A thread that is ending has no desk any more.
        let desk = local::desk(self).unwrap_or(SHARED);
        let mut stalled: Option<Instant> = None;
        let mut state = self.lock();
        loop {
            if state.ledger.destroyed {
                return Err(TraceError::BufferDestroyed(self.id()));
            }
            if service.is_some_and(|service| !service.is_active()) {
                if stalled.is_some() {
                    state.ledger.count_dropped(header);
                }
                return Ok(());
            }
            if state.ledger.append(desk, header, payload) == Appended::Done {
                if let Some(since) = stalled {
                    state.meters.longest_stall = state.meters.longest_stall.max(since.elapsed());
                }
                self.wake_if_due(state);
                return Ok(());
            }
            if state.ledger.reclaim(desk) {
                continue;
            }
            match self.options().policy {
                Policy::Overwrite if state.ledger.drop_oldest() => continue,
                Policy::Overwrite | Policy::Discard => {
                    state.ledger.discard(header);
                    self.wake_if_due(state);
                    return Ok(());
                }
                Policy::Lossless => {}
            }
            let Some(_wait) = waits::begin(&state.thread) else {
                state.ledger.count_dropped(header);
                return Err(TraceError::FullInCallback(self.id()));
            };
            if stalled.is_none() {
                stalled = Some(Instant::now());
                state.meters.stalls += 1;
            }
            state.ledger.seal(desk);
            if !state.ledger.flush_is_under_way() {
                state.ledger.ask_for_flush(false);
            }
            state = self.schedule(state);
            state.room_waiters += 1;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.room_waiters -= 1;
        }
    }
}
