use super::{ChunkBook, Hold, Ledger, SHARED, Stretch};
use crate::chunk::{Chunk, START, head};
use crate::sync::Ordering;

/// What became of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Appended {
    /// It is in the buffer.
    Done,
    /// There is no room for it, or no chunk.
    NoRoom,
}

/// Where a record goes. Nothing of it is in the chunk before it is committed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// The desk that holds the chunk.
    pub(crate) desk: usize,
    pub(crate) chunk: Chunk<'static>,
    /// Where the payload goes.
    pub(crate) offset: usize,
    header: u64,
    length: usize,
}

impl Ledger {
    /// Writes a record for a desk, into its own chunk or the shared one. For the thread whose desk it is.
    pub(crate) fn append(&mut self, desk: usize, header: u64, payload: &[u8]) -> Appended {
        let Some(place) = self.place(desk, header, payload.len()) else { return Appended::NoRoom };
        // SAFETY: the caller has the lock and is the desk's owner: the chunk's one writer. `place` has found room.
        unsafe { place.chunk.write(place.offset, payload) };
        self.commit(&place);
        Appended::Done
    }

    /// Finds room for a record of a desk. None where there is no room or no chunk.
    pub(crate) fn place(&mut self, desk: usize, header: u64, length: usize) -> Option<Place> {
        let desk = self.choose_desk(desk)?;
        let length = length.next_multiple_of(8);
        let hold = self.desks[desk].hold?;
        let left = hold.granted - self.fill(&hold).payload();
        if length > left {
            self.extend(desk, length - left)?;
        }
        // SAFETY: the buffer keeps its region until no thread writes or reads there.
        let chunk = unsafe { self.region.chunk(hold.chunk).detach() };
        Some(Place { desk, chunk, offset: self.desks[desk].writer.offset_of(&chunk, header), header, length })
    }

    /// Makes a record that was written part of its chunk.
    pub(crate) fn commit(&mut self, place: &Place) {
        let desk = place.desk;
        self.desks[desk].writer.commit_written(&place.chunk, place.header, place.length);
        let hold = self.desks[desk].hold.expect("a record is committed to the chunk that it was placed in");
        let payload = self.fill(&hold).payload();
        if payload >= self.share() {
            self.seal(desk);
            return;
        }
        let fresh = payload - hold.queued;
        if self.watermark.is_some_and(|watermark| self.since_cut + fresh >= watermark) {
            self.queue_up(desk, false);
        }
        self.close_if_full();
        self.set_limit(desk);
    }

    /// Finds room for a record that the desk's thread builds in its own chunk, and keeps everyone out of it until
    /// [`end_reservation`](Self::end_reservation). None where the thread has no chunk at the moment.
    pub(crate) fn reserve(&mut self, desk: usize, header: u64, length: usize) -> Option<Place> {
        if desk == SHARED || self.desks[desk].reserved {
            return None;
        }
        let place = self.place(desk, header, length).filter(|place| place.desk == desk)?;
        let desk = &mut self.desks[desk];
        desk.reserved = true;
        desk.writer.set_limit(0);
        Some(place)
    }

    /// Makes a reserved record part of the chunk, or gives its place up.
    pub(crate) fn end_reservation(&mut self, desk: usize, place: Option<&Place>) {
        if std::mem::take(&mut self.desks[desk].last_shared) {
            self.queue_up(SHARED, false);
        }
        self.desks[desk].reserved = false;
        match place {
            Some(place) => self.commit(place),
            None => self.set_limit(desk),
        }
    }

    /// Hands a desk's chunk over, whole, and takes back what was granted and not used. The desk's thread is shut out, or
    /// it is the caller.
    pub(crate) fn seal(&mut self, desk: usize) {
        let Some(hold) = self.desks[desk].hold else { return };
        self.desks[desk].writer.set_limit(0);
        self.queue_up(desk, true);
        self.free_room += hold.granted - self.fill(&hold).payload();
        self.desks[desk].hold = None;
        self.retire_empty();
        self.close_if_full();
    }

    /// Puts what a desk's chunk holds into the queue, as far as it is not there; says how much that is.
    pub(crate) fn queue_up(&mut self, desk: usize, last: bool) -> usize {
        let Some(hold) = self.desks[desk].hold else { return 0 };
        let fill = self.fill(&hold);
        let (chunk, upto, payload) = (hold.chunk, fill.position(), fill.payload() - hold.queued);
        if payload == 0 && !last {
            return 0;
        }
        if let Some(hold) = &mut self.desks[desk].hold {
            hold.queued += payload;
        }
        match self.queue.back_mut().filter(|stretch| stretch.chunk == chunk) {
            Some(stretch) => {
                *stretch = Stretch { chunk, upto, payload: stretch.payload + payload, last };
            }
            None => self.queue.push_back(Stretch { chunk, upto, payload, last }),
        }
        self.queued += payload as u64;
        self.count_towards_watermark(payload);
        payload
    }

    /// The chunk that a desk's next record goes into: its own where it may have one, or the shared one.
    fn choose_desk(&mut self, desk: usize) -> Option<usize> {
        if desk != SHARED {
            if self.desks[desk].reserved {
                // What the thread emitted before must come out before what it emits into the other chunk.
                self.queue_up(desk, false);
            } else if self.desks[desk].hold.is_some() || (self.may_hold(desk) && self.take_chunk(desk)) {
                return Some(desk);
            }
            self.desks[desk].last_shared = true;
        }
        (self.desks[SHARED].hold.is_some() || self.take_chunk(SHARED) || self.take_over()).then_some(SHARED)
    }

    /// Whether a desk may take a chunk of its own: always where it is the only one; else while there is plenty of room and
    /// most chunks are in nobody's hands.
    fn may_hold(&self, desk: usize) -> bool {
        let alone =
            self.desks.iter().enumerate().all(|(index, other)| index == SHARED || index == desk || other.is_vacant());
        // One chunk is kept for the shared desk.
        let spare = self.free_chunks.len() > usize::from(self.desks[SHARED].hold.is_none());
        let roomy = self.free_room >= 2 * self.share() && self.holders().count() < self.chunks.len() / 2;
        spare && self.free_room > 0 && (alone || roomy)
    }

    fn take_chunk(&mut self, desk: usize) -> bool {
        let Some(index) = self.choose_chunk(desk) else { return false };
        if std::mem::take(&mut self.desks[desk].last_shared) && desk != SHARED {
            self.queue_up(SHARED, false);
        }
        let chunk = self.region.chunk(index);
        self.taken += 1;
        chunk.word(head::SEQUENCE).store(self.taken, Ordering::Relaxed);
        chunk.word(head::THREAD).store(u64::from(self.desks[desk].thread.unwrap_or_default().0), Ordering::Relaxed);
        chunk.word(head::DELIVERED).store(START as u64, Ordering::Relaxed);
        self.chunks[index] = ChunkBook { last_desk: desk, ..ChunkBook::empty() };
        // The shared desk takes what each record needs: nobody is granted room that he may not use.
        let grant = if desk == SHARED { 0 } else { self.free_room.min(self.share()) };
        self.free_room -= grant;
        let desk = &mut self.desks[desk];
        desk.hold = Some(Hold { chunk: index, granted: grant, queued: 0, idle: false });
        // SAFETY: the buffer keeps its region until no thread writes or reads there.
        desk.writer.take(unsafe { chunk.detach() });
        true
    }

    /// A free chunk: one that this desk had lately, for it is in its processor's cache; or else the one that nobody has had
    /// for the longest time, for it is in nobody's.
    fn choose_chunk(&mut self, desk: usize) -> Option<usize> {
        const LATELY: usize = 32;
        let mut lately = self.free_chunks.iter().take(LATELY);
        match lately.position(|&index| self.chunks[index].last_desk == desk) {
            Some(place) => self.free_chunks.remove(place),
            None => self.free_chunks.pop_back(),
        }
    }

    /// Moves a chunk that is in someone's hands to the shared desk: there is no other one left. Says whether there was any.
    fn take_over(&mut self) -> bool {
        let of_thread = self.holders().filter(|(_, desk, _)| !desk.reserved);
        let Some((from, ..)) = of_thread.min_by_key(|(_, desk, _)| !desk.is_vacant()) else { return false };
        self.shut_out(&[from]);
        self.return_grant(from);
        self.desks[SHARED].hold = self.desks[from].hold.take();
        self.desks[from].last_shared = true;
        self.desks[SHARED].writer.take_over(&self.desks[from].writer);
        true
    }

    /// Grants more room: what the record lacks at least, what is left of the chunk's share at most.
    fn extend(&mut self, desk: usize, lacking: usize) -> Option<()> {
        if self.free_room < lacking {
            return None;
        }
        let hold = self.desks[desk].hold?;
        let left_of_share = self.share().saturating_sub(hold.granted);
        let wanted = if desk == SHARED { lacking } else { lacking.max(left_of_share) };
        let more = wanted.min(self.free_room);
        self.free_room -= more;
        self.desks[desk].hold.as_mut()?.granted += more;
        Some(())
    }

    /// How far the desk's thread gets without the lock: to the end of its grant, or to where a callback becomes due.
    fn set_limit(&mut self, desk: usize) {
        let desk = if desk == SHARED { return } else { &self.desks[desk] };
        let Some(hold) = desk.hold else { return };
        let payload = self.fill(&hold).payload();
        let since_cut = self.since_cut + payload - hold.queued;
        let due_at = self.watermark.map_or(usize::MAX, |watermark| payload + (watermark - since_cut));
        // Never beyond the share, whatever was granted for a record that was not written: the stride is made for no more.
        let limit = hold.granted.min(due_at).min(self.share());
        desk.writer.set_limit(if desk.reserved { 0 } else { limit });
    }

    fn count_towards_watermark(&mut self, payload: usize) {
        let Some(watermark) = self.watermark else { return };
        self.since_cut += payload;
        if self.since_cut >= watermark {
            self.since_cut = 0;
        }
        self.due |= (self.queued - self.unqueued) as usize >= watermark;
    }
}
