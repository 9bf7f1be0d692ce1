use super::BufferState;
use super::slot::QuietSlot;
use super::writer::OwnWriter;

/// The result of appending a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Appended {
    /// The record is in the buffer.
    Done,
    /// There is no space for it, or no chunk.
    NoSpace,
}

/// The position of a record in its chunk. The record is not part of the chunk until it is committed.
#[derive(Debug)]
pub(crate) struct RecordPosition {
    slot: QuietSlot,
    chunk: usize,
    /// The offset of the payload.
    offset: usize,
    header: u64,
    /// The payload's bytes, a multiple of 8.
    length: usize,
}

impl BufferState {
    /// Writes a record into the chunk of the calling thread, or into the shared one. A thread without a writer uses the
    /// shared one.
    pub(crate) fn append(&mut self, writer: Option<&OwnWriter>, header: u64, payload: &[u8]) -> Appended {
        let own = self.own_slot_or_shared(writer);
        let Some(position) = self.find_position(own, header, payload.len()) else { return Appended::NoSpace };
        // SAFETY: the caller has the lock and the slot's thread is not writing, so this is the chunk's only writer.
        // `find_position` found space after the committed records.
        unsafe { self.region.chunk(position.chunk).write(position.offset, payload) };
        self.commit(&position);
        Appended::Done
    }

    /// Forces the calling thread's next record to take the lock.
    pub(crate) fn lock_own_out(&mut self, writer: Option<&OwnWriter>) {
        let own = self.own_slot_or_shared(writer);
        self.slots[own.index()].writer.revoke_limit();
    }

    /// Finds space for a record that the calling thread builds in its own chunk, and locks all others out of the chunk
    /// until [`end_reservation`](Self::end_reservation). Returns `None` if the thread leases no chunk at the moment.
    ///
    /// # Safety
    /// The slice is used by the calling thread only, before `end_reservation`, and while the region lives.
    #[cfg(not(loom))]
    pub(crate) unsafe fn reserve(
        &mut self,
        writer: &OwnWriter,
        header: u64,
        length: usize,
    ) -> Option<(RecordPosition, &'static mut [u8])> {
        let own = self.own_slot(writer).filter(|own| !self.slots[own.index()].reserved)?;
        let position = self.find_position(own, header, length).filter(|position| position.slot == own)?;
        let slot = &mut self.slots[own.index()];
        slot.reserved = true;
        slot.writer.revoke_limit();
        // SAFETY: the caller vouches for the region. The slot's thread is the chunk's only writer. While the slot is
        // reserved, its records go elsewhere, and no other slot takes over the chunk.
        let payload =
            unsafe { self.region.chunk(position.chunk).detach().payload_mut(position.offset, position.length) };
        Some((position, payload))
    }

    /// Commits a reserved record, or gives up its space. Returns whether this state made the reservation: a reservation
    /// from before a fork was made by the parent's.
    #[cfg(not(loom))]
    pub(crate) fn end_reservation(&mut self, writer: &OwnWriter, position: Option<&RecordPosition>) -> bool {
        let Some(own) = self.own_slot(writer) else { return false };
        if std::mem::take(&mut self.slots[own.index()].last_shared) {
            self.enqueue(QuietSlot::SHARED.index(), false);
        }
        self.slots[own.index()].reserved = false;
        match position {
            Some(position) => self.commit(position),
            None => self.update_limit(own),
        }
        true
    }

    /// Ends the lease of the calling thread's chunk.
    #[cfg(not(loom))]
    pub(crate) fn seal_own(&mut self, writer: &OwnWriter) {
        if let Some(own) = self.own_slot(writer) {
            self.seal(own);
        }
    }

    pub(super) fn own_slot_or_shared(&self, writer: Option<&OwnWriter>) -> QuietSlot {
        writer.and_then(|writer| self.own_slot(writer)).unwrap_or(QuietSlot::SHARED)
    }

    /// Finds space for a record. Returns `None` if there is no space or no chunk.
    fn find_position(&mut self, own: QuietSlot, header: u64, length: usize) -> Option<RecordPosition> {
        let slot = self.choose_slot(own)?;
        let length = length.next_multiple_of(8);
        let lease = self.slots[slot.index()].lease?;
        let left = lease.granted - self.fill(&lease).payload();
        if length > left {
            self.extend_grant(slot, length - left)?;
        }
        let chunk = self.region.chunk(lease.chunk);
        let offset = self.slots[slot.index()].writer.offset_in(&chunk, header);
        Some(RecordPosition { slot, chunk: lease.chunk, offset, header, length })
    }

    /// Makes a written record part of its chunk.
    fn commit(&mut self, position: &RecordPosition) {
        let slot = position.slot;
        let chunk = self.region.chunk(position.chunk);
        // SAFETY: the caller has the lock, the slot's thread is not writing, and the record was written at this
        // position.
        unsafe { self.slots[slot.index()].writer.commit(&chunk, position.header, position.length) };
        let lease = self.slots[slot.index()].lease.expect("a record is committed to the chunk that it was placed in");
        let payload = self.fill(&lease).payload();
        if payload >= self.share() {
            self.seal(slot);
            return;
        }
        let fresh = payload - lease.enqueued;
        if self.watermark.is_some_and(|watermark| self.partial_batch + fresh >= watermark) {
            self.enqueue(slot.index(), false);
        }
        self.close_if_full();
        self.update_limit(slot);
    }

    /// Sets the limit up to which the slot's thread writes without the lock: the end of its grant, or the point at
    /// which a callback becomes due.
    fn update_limit(&mut self, slot: QuietSlot) {
        if slot == QuietSlot::SHARED {
            return;
        }
        let slot = &self.slots[slot.index()];
        let Some(lease) = slot.lease else { return };
        let payload = self.fill(&lease).payload();
        let partial = self.partial_batch + payload - lease.enqueued;
        let due_at = self.watermark.map_or(usize::MAX, |watermark| payload + (watermark - partial));
        // The limit never exceeds the share, even if more was granted for a record that was not written: a chunk has no
        // memory for more.
        let limit = if slot.reserved { 0 } else { lease.granted.min(due_at).min(self.share()) };
        // SAFETY: the caller has the lock, the slot's thread is not writing, and it leases the chunk. A chunk has
        // memory for all records below its share.
        unsafe { slot.writer.set_limit(limit) };
    }
}
