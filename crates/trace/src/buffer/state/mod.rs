//! Where the records of a buffer are. Everything here is protected by the buffer's lock.
//!
//! How a record passes through: each emitting thread has a *slot* (`slot`), which leases a *chunk* (`lease`). Records
//! are appended to the chunk (`append`). The records of a chunk are enqueued as a *pending span* (`pending`). The *next
//! batch* takes spans from the front of the queue (`batch`), and after the callback the chunk is free again.
//!
//! *Space* is counted in payload bytes and is exact: at any moment, free space, space granted to threads, pending
//! records and records in a callback add up to the size. *Chunks* only hold the bytes; there are more of them than the
//! size needs.

mod append;
mod batch;
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
pub(crate) use append::RecordPosition;
pub(crate) use batch::{NextBatch, Piece};
use counts::Counts;
pub(crate) use emitting::EmittingThread;
use flush::Flushes;
use pending::PendingSpan;
use slot::{SHARED, ThreadSlot};
pub(crate) use writer::OwnWriter;

/// Where the records of a buffer are, and how much space is left.
#[derive(Debug)]
pub(crate) struct BufferState {
    region: Region,
    policy: Policy,
    /// The payload that makes a callback due; `None` if only a flush does.
    watermark: Option<usize>,

    /// Payload bytes that are not granted to any thread.
    free_space: usize,
    /// Payload bytes that were delivered while the buffer was closed. They are free again after an explicit flush.
    withheld: usize,
    /// `Discard` only: whether a record did not fit, or the buffer was full.
    closed: bool,

    /// The free chunks, the one that was freed last first.
    free_chunks: VecDeque<usize>,
    chunks: Vec<ChunkState>,
    slots: Vec<ThreadSlot>,
    /// Memory for a list of slots, so that a record that looks for space allocates nothing.
    found: Vec<usize>,
    /// How often a chunk was taken into use.
    chunks_taken: u64,

    /// The records that wait for a callback and can no longer change, in the order of delivery.
    pending: VecDeque<PendingSpan>,
    /// The payload bytes that have ever entered the queue, and that have ever left it.
    enqueued: u64,
    dequeued: u64,
    /// The payload bytes that could not be read, because their memory was overwritten.
    damaged: u64,
    /// The payload bytes in the queue after the last whole batch.
    partial_batch: usize,
    callback_due: bool,
    in_callback: Counts,
    /// The numbers of records that were delivered or dropped.
    counts: Counts,
    /// The number of drops that batches have reported; `None` if drops alone do not make a flush call the callback.
    reported_drops: Option<u64>,
    flushes: Flushes,
    destroyed: bool,
}

/// The number of pending spans for which there is memory when a callback has returned, so that emitting allocates
/// nothing.
const SPARE_SPANS: usize = 256;

/// The state of a chunk.
#[derive(Debug, Clone, Copy)]
struct ChunkState {
    /// Everything before this has left the queue: it is part of a batch, or was overwritten.
    cursor: Cursor,
    /// Whether a callback is reading the chunk.
    in_callback: bool,
    /// Whether its last span has left the queue.
    finished: bool,
    /// The slot that leased it last.
    last_slot: usize,
}

impl BufferState {
    pub(crate) fn new(region: Region, watermark: usize, policy: Policy) -> Self {
        let geometry = *region.geometry();
        // Overwriting drops at most a chunk's share and one record at a time. The buffer keeps that much beyond its
        // size, so that it delivers exactly the newest records.
        let slack = if policy == Policy::Overwrite { 2 * geometry.share } else { 0 };
        let only_on_flush = policy == Policy::Overwrite && watermark >= geometry.size;
        Self {
            policy,
            watermark: (!only_on_flush).then_some(watermark.max(1)),
            free_space: geometry.size + slack,
            withheld: 0,
            closed: false,
            // The chunks whose pages were brought in are used first.
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
            counts: Counts::with_spare_memory(),
            reported_drops: None,
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

    /// Makes a flush also call the callback if no record waits but records were dropped since the last call.
    pub(crate) fn report_drops(&mut self) {
        self.reported_drops = Some(0);
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

    /// Drops the state in the child of a fork. The memory is kept if the forking thread still uses it: if the fork was
    /// made in a callback (`delivering`), or while a record was being built.
    pub(crate) fn abandon(mut self, delivering: bool) {
        let reserved = self.slots.iter().any(|slot| slot.reserved);
        // The other threads exist only in the parent, so this does not wait for them.
        self.slots.drain(..).for_each(|slot| slot.writer.revoke_limit());
        // A record must not be built in the parent's file. On failure the memory is unmapped, and any use of it faults.
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
    /// Locks every thread out, because the region is unmapped now.
    fn drop(&mut self) {
        self.lock_all_out();
    }
}

impl ChunkState {
    const fn empty(last_slot: usize) -> Self {
        Self { cursor: Cursor::start(), in_callback: false, finished: false, last_slot }
    }
}
