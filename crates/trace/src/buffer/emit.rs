use std::sync::{Arc, PoisonError};
use std::time::Instant;

use super::Inner;
use crate::buffer::callback_thread::deadlock as waits;
use crate::buffer::state::{Appended, Place, SHARED};
use crate::buffer::thread_writers as local;
use crate::context::Service;
use crate::{Policy, TraceError};

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
        self.check_length(payload.len())?;
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
                self.wake_if_due(state);
                return Err(TraceError::FullInCallback(self.id()));
            };
            if stalled.is_none() {
                stalled = Some(Instant::now());
                state.meters.stalls += 1;
            }
            if !state.delivering && !state.ledger.has_work() {
                // No callback is due that would make room: the next generation begins here.
                state.ledger.ask_for_flush(false);
            }
            state.room_waiters += 1;
            let made = state.room_made;
            self.schedule(state);
            state = self.lock();
            while state.room_made == made && !state.ledger.destroyed {
                state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            state.room_waiters -= 1;
        }
    }

    /// Whether a record of this length can ever fit.
    pub(crate) fn check_length(&self, length: usize) -> Result<(), TraceError> {
        if length == 0 {
            return Err(TraceError::EmptyRecord);
        }
        if length > self.longest() {
            return Err(TraceError::RecordTooLarge { length, limit: self.longest(), buffer: self.id() });
        }
        Ok(())
    }

    /// Finds room for a record that is built in place; none where it must be built elsewhere.
    pub(crate) fn reserve(self: &Arc<Self>, desk: usize, header: u64, length: usize) -> Option<Place> {
        let mut state = self.lock();
        let place = if state.ledger.destroyed { None } else { state.ledger.reserve(desk, header, length) };
        self.wake_if_due(state);
        place
    }

    /// Emits the reserved record, or gives its place up.
    pub(crate) fn end_reservation(self: &Arc<Self>, desk: usize, place: Option<&Place>) -> Result<(), TraceError> {
        let mut state = self.lock();
        let place = place.filter(|_| !state.ledger.destroyed);
        state.ledger.end_reservation(desk, place);
        let destroyed = state.ledger.destroyed;
        if destroyed || state.room_waiters > 0 {
            // Those who wait could not take what this desk held.
            state.ledger.seal(desk);
            state.ledger.ask_for_flush(false);
            state.announce_room(&self.room);
            self.schedule(state);
        } else {
            self.wake_if_due(state);
        }
        if destroyed { Err(TraceError::BufferDestroyed(self.id())) } else { Ok(()) }
    }
}
