//! Emitting: through the thread's writers, without the buffer's lock, and under the lock where there is more to do.

#[cfg(not(loom))]
mod reservation;
pub(crate) mod thread_writers;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use super::SharedBuffer;
use super::state::Appended;
use crate::TraceError;
use crate::chunk::Policy;

#[cfg(not(loom))]
pub use reservation::Reservation;

impl SharedBuffer {
    /// Emits a record under the lock, and follows the policy where there is no room. `active` says whether the context that
    /// traces the record is still started. A record of a stopped context is not emitted.
    #[cold]
    #[inline(never)]
    pub(crate) fn emit(
        self: &Arc<Self>,
        active: Option<&AtomicBool>,
        header: u64,
        payload: &[u8],
    ) -> Result<(), TraceError> {
        self.check_length(payload.len())?;
        // A thread that is being torn down has no writer. Its record goes into the shared chunk.
        let own = thread_writers::own_writer(self);
        let writer = own.as_ref().map(|own| own.writer());
        let mut stalled: Option<Instant> = None;
        let mut locked = self.lock();
        loop {
            if locked.state.is_destroyed() {
                return Err(TraceError::BufferDestroyed(self.id()));
            }
            if active.is_some_and(|active| !active.load(Ordering::SeqCst)) {
                if stalled.is_some() {
                    locked.state.count_dropped(header);
                }
                return Ok(());
            }
            if locked.state.append(writer, header, payload) == Appended::Done {
                if let Some(since) = stalled {
                    locked.statistics.longest_stall = locked.statistics.longest_stall.max(since.elapsed());
                }
                self.schedule_if_due(locked);
                return Ok(());
            }
            if locked.state.reclaim(writer) {
                continue;
            }
            match self.options().policy {
                Policy::Overwrite if locked.state.drop_oldest() => continue,
                Policy::Overwrite | Policy::Discard => {
                    locked.state.discard(header);
                    self.schedule_if_due(locked);
                    return Ok(());
                }
                Policy::Lossless => {}
            }
            let Some(_wait) = locked.callback_thread.begin_wait() else {
                locked.state.count_dropped(header);
                // A smaller record would still fit. A caller that keeps this one can keep that one, too.
                locked.state.lock_own_out(writer);
                self.schedule_if_due(locked);
                return Err(TraceError::FullInCallback(self.id()));
            };
            if stalled.is_none() {
                stalled = Some(Instant::now());
                locked.statistics.stalls += 1;
            }
            if !locked.delivering && !locked.state.has_work() {
                // No callback is due that would free room: deliver what is there.
                locked.state.request_flush(false);
            }
            locked.room_waiters += 1;
            let made = locked.room_made;
            self.schedule(locked);
            locked = self.lock();
            while locked.room_made == made && !locked.state.is_destroyed() {
                locked = self.room.wait(locked).unwrap_or_else(PoisonError::into_inner);
            }
            locked.room_waiters -= 1;
        }
    }
}
