//! Where the records of a buffer are. Everything here is protected by the buffer's lock.
//!
//! A record's way: each emitting thread has a *slot* (`slot`), which leases a *chunk* (`lease`). Records are appended to
//! the chunk (`append`). What a chunk holds is enqueued as a *pending span* (`pending`). The *next batch* takes spans from
//! the front of the queue (`batch`), and after the callback the chunk is free again.
//!
//! *Room* is counted in payload bytes and is exact: free room, room granted to threads, pending records and records in a
//! callback make up the size at any moment. *Chunks* are only where the bytes lie; there are more of them than the size
//! needs.

mod append;
mod batch;
mod closing;
mod counts;
mod emitting;
mod flush;
mod lease;
mod pending;
mod slot;
mod writer;

use std::collections::VecDeque;

use crate::chunk::{Cursor, Policy, Region};
pub(crate) use append::Appended;
#[cfg(not(loom))]
pub(crate) use append::Place;
pub(crate) use batch::{NextBatch, Piece};
use counts::Counts;
pub(crate) use emitting::EmittingThread;
use flush::Flushes;
use pending::PendingSpan;
use slot::{SHARED, ThreadSlot};
pub(crate) use writer::OwnWriter;

/// Where the records of a buffer are, and how much room is left.
#[derive(Debug)]
pub(crate) struct BufferState {
    region: Region,
    policy: Policy,
    /// The payload that makes a callback due; `None` if only a flush does.
    watermark: Option<usize>,

    /// Payload that is not granted to any thread.
    free_room: usize,
    /// Payload that was delivered while the buffer was closed. It is free again after an explicit flush.
    withheld: usize,
    /// `Discard` only: a record did not fit, or the buffer was full.
    closed: bool,

    /// The chunk that was freed last comes first.
    free_chunks: VecDeque<usize>,
    chunks: Vec<ChunkState>,
    slots: Vec<ThreadSlot>,
    /// Memory for a list of slots, so that a record that looks for room allocates nothing.
    found: Vec<usize>,
    /// The number of times that a chunk was taken into use.
    chunks_taken: u64,

    /// What waits for a callback and cannot change any more, in the order of delivery.
    pending: VecDeque<PendingSpan>,
    /// Payload that ever entered the queue, and that ever left it.
    enqueued: u64,
    dequeued: u64,
    /// Payload that could not be read, because its memory was overwritten.
    damaged: u64,
    /// Payload in the queue behind the last whole batch.
    partial_batch: usize,
    callback_due: bool,
    in_callback: Counts,
    /// Records that were delivered or dropped.
    counts: Counts,
    /// The drops that batches told of; `None` where drops alone make no flush call the callback.
    told_drops: Option<u64>,
    flushes: Flushes,
    destroyed: bool,
}

/// The pending spans that there is memory for when a callback has returned, so that emitting allocates nothing.
const SPARE_SPANS: usize = 256;

/// What is known of a chunk.
#[derive(Debug, Clone, Copy)]
struct ChunkState {
    /// Everything before it left the queue: it is part of a batch, or was overwritten.
    cursor: Cursor,
    /// A callback is reading the chunk.
    in_callback: bool,
    /// Its last span left the queue.
    finished: bool,
    /// The slot that leased it last.
    last_slot: usize,
}

impl BufferState {
    pub(crate) fn new(region: Region, watermark: usize, policy: Policy) -> Self {
        let geometry = *region.geometry();
        // Overwriting drops a chunk's share and at most one record more at a time. The buffer keeps that much beyond its
        // size, so that it delivers exactly the newest.
        let slack = if policy == Policy::Overwrite { 2 * geometry.share } else { 0 };
        let only_on_flush = policy == Policy::Overwrite && watermark >= geometry.size;
        Self {
            policy,
            watermark: (!only_on_flush).then_some(watermark.max(1)),
            free_room: geometry.size + slack,
            withheld: 0,
            closed: false,
            // Those whose pages were brought in are used first.
            free_chunks: (0..geometry.count).rev().collect(),
            chunks: vec![ChunkState::empty(SHARED); geometry.count],
            slots: vec![ThreadSlot::shared()],
            found: Vec::new(),
            chunks_taken: 0,
            pending: VecDeque::with_capacity(SPARE_SPANS + geometry.count),
            enqueued: 0,
            dequeued: 0,
            damaged: 0,
            partial_batch: 0,
            callback_due: false,
            in_callback: Counts::default(),
            counts: Counts::with_room(),
            told_drops: None,
            flushes: Flushes::default(),
            destroyed: false,
            region,
        }
    }

    pub(crate) fn is_destroyed(&self) -> bool {
        self.destroyed
    }

    /// Makes the buffer refuse records from now on.
    pub(crate) fn set_destroyed(&mut self) {
        self.destroyed = true;
    }

    /// Lets a flush call the callback also where no record waits, but records were dropped since the last call.
    pub(crate) fn tell_drops(&mut self) {
        self.told_drops = Some(0);
    }

    /// Returns the number of records that callbacks received.
    pub(crate) fn delivered(&self) -> u64 {
        self.counts.delivered()
    }

    /// Returns whether a callback became due since the last call.
    pub(crate) fn take_callback_due(&mut self) -> bool {
        std::mem::take(&mut self.callback_due)
    }

    pub(crate) fn region(&self) -> &Region {
        &self.region
    }

    /// Drops the state in the child of a fork. Its memory stays if the forking thread still uses it: if the fork was made in
    /// a callback (`delivering`), or while a record was being built.
    pub(crate) fn abandon(mut self, delivering: bool) {
        let reserved = self.slots.iter().any(|slot| slot.reserved);
        // The other threads are the parent's, so there is no waiting for them.
        self.slots.drain(..).for_each(|slot| slot.writer.revoke_limit());
        // A record must not be built in the parent's file. On failure the memory goes, and using it faults.
        let is_private = !reserved || self.region.make_private().is_ok();
        if (delivering || reserved) && is_private {
            std::mem::forget(self);
        }
    }

    fn share(&self) -> usize {
        self.region.geometry().share
    }
}

impl Drop for BufferState {
    /// Locks every thread out: the region goes now.
    fn drop(&mut self) {
        self.lock_all_out();
    }
}

impl ChunkState {
    const fn empty(last_slot: usize) -> Self {
        Self { cursor: Cursor::start(), in_callback: false, finished: false, last_slot }
    }
}
