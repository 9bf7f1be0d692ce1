use std::fmt;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;
use std::sync::Arc;

use super::drop_if_interrupting;
use super::thread_writers::{ThreadWriter, own_writer};
use crate::TraceError;
use crate::buffer::SharedBuffer;
use crate::buffer::state::RecordPosition;
use crate::chunk::header_word;
use crate::record::Category;
use crate::sync::Inside;

/// A record that is being built in the buffer itself. Its bytes are zero at first. If it is dropped without
/// [`commit`](Self::commit), no record is emitted.
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
    InPlace { own: Rc<ThreadWriter>, position: RecordPosition, payload: &'a mut [u8] },
    /// In memory of its own, because the thread leases no chunk at the moment or is building another record in its
    /// chunk.
    Apart(Vec<u8>),
    /// Committed or given up.
    Done,
}

impl SharedBuffer {
    /// Begins a record of this length. The lifetime is that of a handle of the buffer.
    pub(in crate::buffer) fn begin_reservation<'a>(
        self: &'a Arc<Self>,
        category: Category,
        kind: u16,
        length: usize,
    ) -> Result<Reservation<'a>, TraceError> {
        self.check_length(length)?;
        if drop_if_interrupting(self.id(), category, kind) {
            return Err(TraceError::Interrupted);
        }
        let _inside = Inside::enter();
        let header = header_word(category, kind, length);
        let memory = self.reserve(header, length)?;
        Ok(Reservation { buffer: Arc::clone(self), header, memory })
    }

    fn reserve<'a>(self: &Arc<Self>, header: u64, length: usize) -> Result<Memory<'a>, TraceError> {
        let own = own_writer(self);
        let mut locked = self.lock();
        if locked.state.is_destroyed() {
            return Err(TraceError::BufferDestroyed(self.id()));
        }
        let reserved = own.and_then(|own| {
            // SAFETY: the reservation stays on this thread, because its `Rc` does. It uses the slice before it ends,
            // and keeps the buffer alive. In the child of a fork the region of a reserved record stays.
            let (position, payload) = unsafe { locked.state.reserve(own.writer(), header, length) }?;
            Some((own, position, payload))
        });
        self.schedule_if_due(locked);
        let Some((own, position, payload)) = reserved else { return Ok(Memory::Apart(vec![0; length])) };
        payload.fill(0);
        Ok(Memory::InPlace { own, position, payload: &mut payload[..length] })
    }

    /// Commits the record at `position`, or gives up the space if that is `None`. Returns whether this process made the
    /// reservation: in the child of a fork the parent may have made it.
    fn end_reservation(
        self: &Arc<Self>,
        own: &ThreadWriter,
        position: Option<&RecordPosition>,
    ) -> Result<bool, TraceError> {
        let mut locked = self.lock();
        let destroyed = locked.state.is_destroyed();
        let ended = locked.state.end_reservation(own.writer(), position.filter(|_| !destroyed));
        if destroyed || locked.space_waiters > 0 {
            // Until now the threads that wait for space could not take over the chunk that this slot leases.
            locked.state.seal_own(own.writer());
            locked.state.request_flush(false);
            locked.notify_of_space(&self.space);
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
    /// As [`crate::Buffer::emit`].
    pub fn commit(mut self) -> Result<(), TraceError> {
        match std::mem::replace(&mut self.memory, Memory::Done) {
            Memory::InPlace { own, position, payload } => match self.buffer.end_reservation(&own, Some(&position))? {
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
