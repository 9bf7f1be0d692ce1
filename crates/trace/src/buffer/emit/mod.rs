//! Emits records: through the thread's writers without the buffer's lock, or under the lock if there is more to do.

#[cfg(not(loom))]
mod reservation;
pub(crate) mod thread_writers;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::state::Appended;
use super::{SharedBuffer, registry};
use crate::TraceError;
use crate::chunk::{Policy, header_word};
use crate::record::{BufferId, Category};
use crate::sync::Inside;
use crate::sync::inside::{Counter, is_inside, note_dropped};
#[cfg(not(loom))]
pub use reservation::Reservation;

/// Returns whether the caller is a signal handler that interrupted its thread in a call of opscope. A record that such
/// a handler emits is dropped and counted, because the interrupted call may hold the lock that the record needs.
#[inline]
pub fn interrupts_a_call() -> bool {
    is_inside() || thread_writers::is_writing()
}

/// If the caller is a signal handler that [interrupted a call](interrupts_a_call), drops the record that it is about to
/// emit into the buffer with this number, and counts it. Returns whether it did. It takes no lock and allocates
/// nothing.
pub fn drop_if_interrupting(buffer: BufferId, category: Category, kind: u16) -> bool {
    let interrupts = interrupts_a_call();
    if interrupts {
        note_dropped(Counter::Buffers, buffer.as_raw() << 24 | u64::from(category.0) << 16 | u64::from(kind));
    }
    interrupts
}

/// Counts records that [`drop_if_interrupting`] dropped, by the key that it noted.
pub(super) fn count_dropped_in_handler(key: u64, records: u64) {
    // A destroyed buffer no longer counts anything.
    if let Some(buffer) = registry::find(BufferId::from_raw(key >> 24)) {
        buffer.count_dropped(header_word(Category((key >> 16) as u8), key as u16, 0), records);
    }
}

impl SharedBuffer {
    /// Counts records of one kind as dropped.
    pub(crate) fn count_dropped(&self, header: u64, records: u64) {
        self.lock().state.count_dropped_times(header, records);
    }

    /// Emits a record under the lock, and follows the policy if the buffer is full. `active` says whether the context
    /// that traces the record is still started. A record of a stopped context is not emitted.
    ///
    /// The caller knows that it does not [interrupt a call](interrupts_a_call).
    #[cold]
    #[inline(never)]
    pub(crate) fn emit(
        self: &Arc<Self>,
        active: Option<&AtomicBool>,
        header: u64,
        payload: &[u8],
    ) -> Result<(), TraceError> {
        self.check_length(payload.len())?;
        // The thread counts as inside of the call even while it waits for space, because a handler that emits meanwhile
        // would not find space either.
        let _inside = Inside::enter();
        // A thread has no writer while it is being torn down. Its record goes into the shared chunk.
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
                    locked.statistics.longest_stall = locked.statistics.longest_stall.max(self.clock().elapsed(since));
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
                // A smaller record would still fit. It must take the lock, too, because the caller may keep this record
                // and emit it later.
                locked.state.lock_own_out(writer);
                self.schedule_if_due(locked);
                return Err(TraceError::FullInCallback(self.id()));
            };
            if stalled.is_none() {
                stalled = Some(self.clock().now());
                locked.statistics.stalls += 1;
            }
            if !locked.delivering && !locked.state.has_work() {
                // No callback that would free space is due, so the records in the buffer are delivered now.
                locked.state.request_flush(false);
            }
            locked.space_waiters += 1;
            let made = locked.space_notices;
            self.schedule(locked);
            locked = self.lock();
            while locked.space_notices == made && !locked.state.is_destroyed() {
                locked = self.space.wait(locked);
            }
            locked.space_waiters -= 1;
        }
    }
}
