//! Which slot leases which chunk, and how much space it is granted.

use super::slot::{ChunkLease, QuietSlot, SHARED};
use super::writer::OwnWriter;
use super::{BufferState, ChunkState};
use crate::chunk::{START, head};
use crate::sync::Ordering;

impl BufferState {
    /// Returns the slot that a thread's next record goes into: its own if it may lease a chunk, or the shared one.
    pub(super) fn choose_slot(&mut self, own: QuietSlot) -> Option<QuietSlot> {
        if own != QuietSlot::SHARED {
            let index = own.index();
            if self.slots[index].reserved {
                // The thread's earlier records must be delivered before those that it emits into the other chunk.
                self.enqueue(index, false);
            } else if self.slots[index].lease.is_some() || (self.may_lease(index) && self.lease_chunk(own)) {
                return Some(own);
            }
            self.slots[index].last_shared = true;
        }
        let shared = QuietSlot::SHARED;
        let has_chunk = self.slots[SHARED].lease.is_some() || self.lease_chunk(shared) || self.take_over();
        has_chunk.then_some(shared)
    }

    /// Returns whether a slot may lease a chunk: always if its thread is the only one; else while there is plenty of
    /// space and most chunks are not leased.
    fn may_lease(&self, slot: usize) -> bool {
        let alone =
            self.slots.iter().enumerate().all(|(index, other)| index == SHARED || index == slot || other.is_vacant());
        // One chunk is kept for the shared slot.
        let spare = self.free_chunks.len() > usize::from(self.slots[SHARED].lease.is_none());
        let has_plenty = self.free_space >= 2 * self.share() && self.leasing().count() < self.chunks.len() / 2;
        spare && self.free_space > 0 && (alone || has_plenty)
    }

    /// Leases a free chunk to a slot. Returns whether there was one.
    fn lease_chunk(&mut self, slot: QuietSlot) -> bool {
        let Some(chunk) = self.pick_free_chunk(slot.index()) else { return false };
        if slot != QuietSlot::SHARED && std::mem::take(&mut self.slots[slot.index()].last_shared) {
            self.enqueue(SHARED, false);
        }
        self.chunks_taken += 1;
        // The shared slot is granted what each record needs, because space that is granted ahead may stay unused.
        let granted = if slot == QuietSlot::SHARED { 0 } else { self.free_space.min(self.share()) };
        self.free_space -= granted;
        self.chunks[chunk] = ChunkState::empty(slot.index());
        let memory = self.region.chunk(chunk);
        let slot = &mut self.slots[slot.index()];
        memory.word(head::SEQUENCE).store(self.chunks_taken, Ordering::Relaxed);
        memory.word(head::THREAD).store(u64::from(slot.thread.unwrap_or_default().0), Ordering::Relaxed);
        memory.word(head::DELIVERED).store(START as u64, Ordering::Relaxed);
        slot.lease = Some(ChunkLease { chunk, granted, enqueued: 0, idle: false });
        // SAFETY: the caller has the lock, the slot's thread is not writing, and the chunk was free. A writer uses its
        // chunk while its limit is above 0, and every limit is revoked before the region goes.
        unsafe { slot.writer.begin_chunk(memory.detach()) };
        true
    }

    /// Returns a free chunk: preferably one that this slot leased lately, because it is in its processor's cache; else
    /// the one that was unused for the longest time, because it is in no cache.
    fn pick_free_chunk(&mut self, slot: usize) -> Option<usize> {
        const LATELY: usize = 32;
        let mut lately = self.free_chunks.iter().take(LATELY);
        match lately.position(|&chunk| self.chunks[chunk].last_slot == slot) {
            Some(index) => self.free_chunks.remove(index),
            None => self.free_chunks.pop_back(),
        }
    }

    /// Moves a leased chunk to the shared slot, because no chunk is free. Returns whether there was a leased chunk.
    fn take_over(&mut self) -> bool {
        let takeable = self.leasing().filter(|(_, slot, _)| !slot.reserved);
        let Some((from, ..)) = takeable.min_by_key(|(_, slot, _)| !slot.is_vacant()) else { return false };
        for from in self.lock_out(&[from]) {
            self.return_grant(from);
            self.slots[SHARED].lease = self.slots[from.index()].lease.take();
            self.slots[from.index()].last_shared = true;
            // SAFETY: the caller has the lock, the other slot's thread is locked out, and its lease was just taken. The
            // shared slot has no owner.
            unsafe { self.slots[SHARED].writer.take_over(&self.slots[from.index()].writer) };
        }
        true
    }

    /// Grants a slot more space: at least what the record lacks, at most the rest of the chunk's share.
    pub(super) fn extend_grant(&mut self, slot: QuietSlot, lacking: usize) -> Option<()> {
        if self.free_space < lacking {
            return None;
        }
        let lease = self.slots[slot.index()].lease.as_mut()?;
        let left_of_share = self.region.geometry().share.saturating_sub(lease.granted);
        let wanted = if slot == QuietSlot::SHARED { lacking } else { lacking.max(left_of_share) };
        let more = wanted.min(self.free_space);
        self.free_space -= more;
        lease.granted += more;
        Some(())
    }

    /// Takes back the part of a slot's grant that it does not use. Returns its size.
    pub(super) fn return_grant(&mut self, slot: QuietSlot) -> usize {
        let Some(lease) = self.slots[slot.index()].lease else { return 0 };
        let unused = lease.granted - self.fill(&lease).payload();
        self.free_space += unused;
        if let Some(lease) = &mut self.slots[slot.index()].lease {
            lease.granted -= unused;
        }
        unused
    }

    /// Takes back space that was granted to other threads and is unused, for a thread that needs it. Returns whether
    /// there was any.
    pub(crate) fn reclaim(&mut self, writer: Option<&OwnWriter>) -> bool {
        let own = self.own_slot_or_shared(writer).index();
        let others = self.find_leasing(|state, index, slot, lease| {
            index != own && !slot.reserved && lease.granted > state.fill(lease).payload()
        });
        let returned = self.lock_out(&others).map(|other| self.return_grant(other)).sum::<usize>();
        self.found = others;
        returned > 0
    }

    /// Ends a lease: enqueues the whole chunk, and takes back the unused part of its grant.
    pub(super) fn seal(&mut self, slot: QuietSlot) {
        if self.slots[slot.index()].lease.is_none() {
            return;
        }
        self.slots[slot.index()].writer.revoke_limit();
        self.enqueue(slot.index(), true);
        self.return_grant(slot);
        self.slots[slot.index()].lease = None;
        self.retire_empty();
        self.close_if_full();
    }

    /// Ends the leases of these slots, whatever their threads are doing.
    pub(super) fn take_away(&mut self, slots: &[usize]) {
        for slot in self.lock_out(slots) {
            self.seal(slot);
        }
    }
}
