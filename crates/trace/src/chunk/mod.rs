//! The memory of a buffer: one region, cut into chunks, in each of which one thread writes.
//!
//! What everything that touches this memory relies on:
//!
//! - *One writer*: bytes at and after `committed` are written by one thread at a time: the one that holds the chunk, or
//!   whoever holds the buffer's lock while that thread is shut out.
//! - *A prefix is for ever*: bytes before `committed` are not written again until the chunk is recycled, which happens
//!   under the buffer's lock when no reader is in it.
//! - *Publication*: `committed` is stored with Release after the bytes and loaded with Acquire before they are read.

mod geometry;
#[cfg(loom)]
mod loom_memory;
#[cfg(not(loom))]
mod memory;
mod policy;
mod region;
mod segment;

pub(crate) use geometry::{Geometry, MAX_SIZE};
#[cfg(loom)]
pub(crate) use loom_memory::Chunk;
#[cfg(not(loom))]
pub(crate) use memory::Chunk;
pub use policy::Policy;
pub(crate) use region::Region;
pub(crate) use segment::{Cursor, Fill, Segment, Taken, Words, header_word};

/// Where the first record of a chunk lies. Before it is the head; its last word is the first segment's header.
pub(crate) const START: usize = 64;

/// The words of a chunk's head, by their offsets.
pub(crate) mod head {
    /// A [`Fill`](super::Fill). 0 in a chunk that nobody holds.
    pub(crate) const COMMITTED: usize = 0;
    /// Counts the times that any chunk of the buffer was taken: gives chunks their order.
    pub(crate) const SEQUENCE: usize = 8;
    /// The thread that took it; 0 for the shared chunk.
    pub(crate) const THREAD: usize = 16;
    /// One past the last byte that a callback has got.
    pub(crate) const DELIVERED: usize = 24;
}
