use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::buffer::Inner;
use crate::buffer::state::Place;
use crate::buffer::thread_writers as local;
use crate::chunk::header_word;
use crate::{Buffer, Category, TraceError};

/// A record that is being built where it will lie. It is zero at first. Dropped without [`commit`](Self::commit), it leaves
/// no trace.
///
/// A record that the same thread emits meanwhile comes before it.
pub struct Reservation<'a> {
    buffer: Arc<Inner>,
    header: u64,
    memory: Memory<'a>,
    /// It belongs to the thread that made it.
    _thread: PhantomData<*const ()>,
}

enum Memory<'a> {
    /// In this thread's chunk.
    InPlace { desk: usize, place: Place, payload: &'a mut [u8] },
    /// Apart, where the thread has no chunk of its own at the moment, or is building another record in it.
    Apart(Vec<u8>),
    /// Committed, or given up.
    Done,
}

impl Buffer {
    /// Begins a record of this length.
    ///
    /// # Errors
    /// When a record of this length can never fit, or the buffer is destroyed.
    pub fn reserve(&self, category: Category, kind: u16, length: usize) -> Result<Reservation<'_>, TraceError> {
        let buffer = Arc::clone(self.inner());
        buffer.check_length(length)?;
        let header = header_word(category, kind, length);
        let memory = match local::desk(&buffer).and_then(|desk| Some((desk, buffer.reserve(desk, header, length)?))) {
            Some((desk, place)) => {
                // SAFETY: the reservation keeps this thread's records, and everyone else, out of that part of the chunk until
                // it is committed or given up, and keeps the buffer alive.
                let payload = unsafe { place.chunk.payload_mut(place.offset, length.next_multiple_of(8)) };
                payload.fill(0);
                Memory::InPlace { desk, place, payload: &mut payload[..length] }
            }
            None if buffer.is_destroyed() => return Err(TraceError::BufferDestroyed(buffer.id())),
            None => Memory::Apart(vec![0; length]),
        };
        Ok(Reservation { buffer, header, memory, _thread: PhantomData })
    }
}

impl Reservation<'_> {
    /// Emits the record.
    ///
    /// # Errors
    /// As [`Buffer::emit`].
    pub fn commit(mut self) -> Result<(), TraceError> {
        match std::mem::replace(&mut self.memory, Memory::Done) {
            Memory::InPlace { desk, place, .. } => self.buffer.end_reservation(desk, Some(&place)),
            Memory::Apart(payload) => self.buffer.emit(None, self.header, &payload),
            Memory::Done => Ok(()),
        }
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if let Memory::InPlace { desk, .. } = self.memory {
            // Only a commit can fail.
            let _ = self.buffer.end_reservation(desk, None);
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
