use std::fmt;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;
use std::sync::Arc;

use super::thread_writers::{ThreadWriter, own_writer};
use crate::TraceError;
use crate::buffer::state::Place;
use crate::buffer::{Buffer, SharedBuffer};
use crate::chunk::header_word;
use crate::record::Category;

/// A record that is being built in the buffer itself. Its bytes are zero at first. Dropped without
/// [`commit`](Self::commit), it is not emitted.
///
/// A record that the same thread emits meanwhile comes before it.
///
/// It stays on the thread that began it:
///
/// ```compile_fail,E0277
/// fn send(reservation: opscope_trace::Reservation<'static>) {
///     std::thread::spawn(move || drop(reservation));
/// }
/// ```
pub struct Reservation<'a> {
    buffer: Arc<SharedBuffer>,
    header: u64,
    memory: Memory<'a>,
}

enum Memory<'a> {
    /// In the chunk of this thread, whose writer keeps the reservation on it.
    InPlace { own: Rc<ThreadWriter>, place: Place, payload: &'a mut [u8] },
    /// Elsewhere, because the thread leases no chunk at the moment or builds another record in it.
    Apart(Vec<u8>),
    /// Committed or given up.
    Done,
}

impl Buffer {
    /// Begins a record of this length.
    ///
    /// # Errors
    /// When a record of this length can never fit, or the buffer is destroyed.
    pub fn reserve(&self, category: Category, kind: u16, length: usize) -> Result<Reservation<'_>, TraceError> {
        let buffer = Arc::clone(self.shared());
        buffer.check_length(length)?;
        let header = header_word(category, kind, length);
        let memory = buffer.reserve(header, length)?;
        Ok(Reservation { buffer, header, memory })
    }
}

impl SharedBuffer {
    fn reserve<'a>(self: &Arc<Self>, header: u64, length: usize) -> Result<Memory<'a>, TraceError> {
        let own = own_writer(self);
        let mut locked = self.lock();
        if locked.state.is_destroyed() {
            return Err(TraceError::BufferDestroyed(self.id()));
        }
        let reserved = own.and_then(|own| {
            // SAFETY: the reservation stays on this thread, because its `Rc` does. It uses the slice before it ends, and
            // keeps the buffer alive. In the child of a fork the region of a reserved record stays.
            let (place, payload) = unsafe { locked.state.reserve(own.writer(), header, length) }?;
            Some((own, place, payload))
        });
        self.schedule_if_due(locked);
        let Some((own, place, payload)) = reserved else { return Ok(Memory::Apart(vec![0; length])) };
        payload.fill(0);
        Ok(Memory::InPlace { own, place, payload: &mut payload[..length] })
    }

    /// Commits the reserved record, or gives its place up if there is no `place`. Returns whether the reservation was this
    /// process's; one that was made before a fork is not.
    fn end_reservation(self: &Arc<Self>, own: &ThreadWriter, place: Option<&Place>) -> Result<bool, TraceError> {
        let mut locked = self.lock();
        let destroyed = locked.state.is_destroyed();
        let ended = locked.state.end_reservation(own.writer(), place.filter(|_| !destroyed));
        if destroyed || locked.room_waiters > 0 {
            // The threads that wait for room could not take what this slot leased.
            locked.state.seal_own(own.writer());
            locked.state.request_flush(false);
            locked.announce_room(&self.room);
            self.schedule(locked);
        } else {
            self.schedule_if_due(locked);
        }
        if destroyed { Err(TraceError::BufferDestroyed(self.id())) } else { Ok(ended) }
    }
}

impl Reservation<'_> {
    /// Emits the record.
    ///
    /// # Errors
    /// As [`Buffer::emit`].
    pub fn commit(mut self) -> Result<(), TraceError> {
        match std::mem::replace(&mut self.memory, Memory::Done) {
            Memory::InPlace { own, place, payload } => match self.buffer.end_reservation(&own, Some(&place))? {
                true => Ok(()),
                false => self.buffer.emit(None, self.header, payload),
            },
            Memory::Apart(payload) => self.buffer.emit(None, self.header, &payload),
            Memory::Done => Ok(()),
        }
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if let Memory::InPlace { own, .. } = &self.memory {
            // Only a commit can fail.
            let _ = self.buffer.end_reservation(own, None);
        }
    }
}

impl Deref for Reservation<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.memory {
            Memory::InPlace { payload, .. } => payload,
            Memory::Apart(payload) => payload,
            Memory::Done => &[],
        }
    }
}

impl DerefMut for Reservation<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Memory::InPlace { payload, .. } => payload,
            Memory::Apart(payload) => payload,
            Memory::Done => &mut [],
        }
    }
}

impl fmt::Debug for Reservation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation").field("buffer", &self.buffer.id()).field("length", &self.len()).finish()
    }
}
