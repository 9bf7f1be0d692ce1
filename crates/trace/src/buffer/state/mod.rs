//! What a buffer knows of itself: everything that its lock protects.
//!
//! *Room* is counted in payload bytes and is exact: what is free, what was granted to threads, what waits, and what is in
//! a callback make up the size at any moment. *Chunks* are only where the bytes lie; there are more of them than the size
//! asks for.

mod append;
mod counts;
mod deliver;
mod room;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::buffer::writer::Writer;
use crate::chunk::{Cursor, Fill, Region};
use crate::sync::Ordering;
use crate::{Policy, ThreadId};

pub(crate) use append::{Appended, Place};
pub(crate) use counts::Counts;
pub(crate) use deliver::{Cut, Piece};

/// The desk of all threads that have no chunk of their own. Its writer has no owner and is used under the lock.
pub(crate) const SHARED: usize = 0;

/// A buffer's books.
#[derive(Debug)]
pub(crate) struct Ledger {
    region: Region,
    policy: Policy,
    /// How much payload makes a callback due; none where only a flush does.
    watermark: Option<usize>,

    /// Payload that nobody was granted.
    free_room: usize,
    /// Payload that was delivered while the buffer is closed: free again after an explicit flush.
    withheld: usize,
    /// `Discard` only: a record did not fit, or the buffer was full.
    closed: bool,

    /// The one that was freed last comes first.
    free_chunks: VecDeque<usize>,
    chunks: Vec<ChunkBook>,
    desks: Vec<Desk>,
    /// How often a chunk was taken.
    taken: u64,

    /// What waits for a callback and is not in a thread's hands any more, in the order of delivery.
    queue: VecDeque<Stretch>,
    /// Payload that ever went into the queue, and that ever left it.
    queued: u64,
    unqueued: u64,
    /// Payload in the queue that does not make up a whole batch yet.
    since_cut: usize,
    due: bool,
    in_delivery: Counts,
    counts: Counts,

    pub(crate) flushes: Flushes,
    pub(crate) destroyed: bool,
}

/// Flushes that were asked for, by their number.
#[derive(Debug, Default)]
pub(crate) struct Flushes {
    pub(crate) asked: u64,
    /// The last one that a user asked for, which opens a closed buffer.
    asked_explicitly: u64,
    begun: u64,
    /// What must have left the queue for the one that has begun to be done.
    mark: u64,
    pub(crate) done: u64,
}

/// A chunk's state.
#[derive(Debug, Clone, Copy)]
struct ChunkBook {
    /// What was cut into batches, or overwritten.
    cursor: Cursor,
    /// A callback is reading it.
    in_delivery: bool,
    /// Its last stretch has left the queue.
    finished: bool,
    /// Who took it last.
    last_desk: usize,
}

/// A thread that emits into the buffer.
#[derive(Debug)]
struct Desk {
    writer: Arc<Writer>,
    /// None after its end: the next thread takes the desk over, with the chunk and the writer.
    thread: Option<ThreadId>,
    hold: Option<Hold>,
    /// A record is being built in its chunk.
    reserved: bool,
    /// Its last record went into the shared chunk.
    last_shared: bool,
}

/// A chunk in a thread's hands.
#[derive(Debug, Clone, Copy)]
struct Hold {
    chunk: usize,
    /// How much payload the chunk may take.
    granted: usize,
    /// How much of it has been queued.
    queued: usize,
    /// Nothing was emitted between the last two flushes.
    idle: bool,
}

/// Part of a chunk that waits for a callback. It begins at the chunk's cursor, or behind an earlier stretch of it.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    chunk: usize,
    upto: usize,
    payload: usize,
    /// Nothing follows in this chunk.
    last: bool,
}

impl Ledger {
    pub(crate) fn new(region: Region, watermark: usize, policy: Policy) -> Self {
        let geometry = *region.geometry();
        // Overwriting drops a chunk's share at a time and a record more at most, so it keeps that much more than it delivers.
        let slack = if policy == Policy::Overwrite { 2 * geometry.share } else { 0 };
        let never = policy == Policy::Overwrite && watermark >= geometry.size;
        let shared = Desk::new(SHARED, ThreadId(0));
        Self {
            policy,
            watermark: (!never).then_some(watermark.max(1)),
            free_room: geometry.size + slack,
            withheld: 0,
            closed: false,
            // Those whose memory was brought in are used first.
            free_chunks: (0..geometry.count).rev().collect(),
            chunks: vec![ChunkBook::empty(); geometry.count],
            desks: vec![shared],
            taken: 0,
            queue: VecDeque::new(),
            queued: 0,
            unqueued: 0,
            since_cut: 0,
            due: false,
            in_delivery: Counts::default(),
            counts: Counts::default(),
            flushes: Flushes::default(),
            destroyed: false,
            region,
        }
    }

    /// A new thread emits into the buffer. It goes on in a chunk that another thread has left, where there is one.
    pub(crate) fn open_desk(&mut self, thread: ThreadId) -> Arc<Writer> {
        let vacant =
            |with_chunk| self.desks.iter().position(|desk| desk.is_vacant() && desk.hold.is_some() == with_chunk);
        let index = vacant(true).or_else(|| vacant(false)).unwrap_or(self.desks.len());
        if index == self.desks.len() {
            self.desks.push(Desk::new(index, thread));
        }
        self.desks[index].thread = Some(thread);
        Arc::clone(&self.desks[index].writer)
    }

    /// A thread ends. Its records stay, and so does the rest of its chunk, for the next thread.
    pub(crate) fn close_desk(&mut self, desk: usize) {
        self.desks[desk].thread = None;
        self.desks[desk].reserved = false;
        self.desks[desk].writer.set_limit(0);
        // Whoever joins the thread and emits then, into whichever chunk, comes after it.
        self.queue_up(desk, false);
        if std::mem::take(&mut self.desks[desk].last_shared) {
            self.queue_up(SHARED, false);
        }
        self.return_grant(desk);
    }

    /// Shuts every thread out for good, in the child of a fork: their chunks are the parent's.
    pub(crate) fn abandon(&mut self) {
        for desk in &self.desks {
            desk.writer.set_limit(0);
        }
    }

    /// Records that callbacks have got.
    pub(crate) fn delivered(&self) -> u64 {
        self.counts.delivered()
    }

    /// Whether a callback became due since this was asked last.
    pub(crate) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }

    /// The memory.
    pub(crate) fn region(&self) -> &Region {
        &self.region
    }

    fn share(&self) -> usize {
        self.region.geometry().share
    }

    /// How far a chunk is filled. Acquire: another thread may have committed that without the lock, and whoever asks may
    /// read up to there.
    fn fill(&self, hold: &Hold) -> Fill {
        Fill(self.region.chunk(hold.chunk).committed().load(Ordering::Acquire))
    }

    /// The desks that hold a chunk.
    fn holders(&self) -> impl Iterator<Item = (usize, &Desk, &Hold)> {
        self.desks.iter().enumerate().filter_map(|(index, desk)| Some((index, desk, desk.hold.as_ref()?)))
    }
}

impl Desk {
    fn new(index: usize, thread: ThreadId) -> Self {
        let writer = Arc::new(Writer::new(index));
        Self { writer, thread: Some(thread), hold: None, reserved: false, last_shared: false }
    }

    /// Whether its thread has ended.
    fn is_vacant(&self) -> bool {
        self.thread.is_none()
    }
}

impl ChunkBook {
    const fn empty() -> Self {
        Self { cursor: Cursor::start(), in_delivery: false, finished: false, last_desk: SHARED }
    }
}
