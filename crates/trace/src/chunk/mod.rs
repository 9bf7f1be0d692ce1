//! The memory of a buffer: one region, cut into chunks. Each chunk is written by one thread at a time.
//!
//! All code that touches this memory relies on three rules:
//!
//! - *One writer*: bytes at and after `committed` are written by one thread at a time. That is the thread that leases
//!   the chunk or, while that thread is locked out, the thread that holds the buffer's lock.
//! - *A stable prefix*: bytes before `committed` are not written again until the chunk is recycled. That happens under
//!   the buffer's lock, when no reader is in the chunk.
//! - *Publication*: `committed` is stored with Release after the bytes, and loaded with Acquire before they are read.

mod cursor;
mod geometry;
#[cfg(loom)]
mod loom_memory;
#[cfg(not(loom))]
mod memory;
mod policy;
#[cfg(not(loom))]
mod region;

pub(crate) use cursor::{Cursor, Fill, RecordSpan, Segment, Words, header_word};
pub(crate) use geometry::{Geometry, MAX_SIZE};
#[cfg(loom)]
pub(crate) use loom_memory::{Chunk, Region};
#[cfg(not(loom))]
pub(crate) use memory::Chunk;
pub use policy::Policy;
#[cfg(not(loom))]
pub(crate) use region::Region;

/// The offset of a chunk's first record. Before it lies the head, whose last word is the first segment's header.
pub(crate) const START: usize = 64;

/// The offsets of the words in a chunk's head.
pub(crate) mod head {
    /// A [`Fill`](super::Fill). 0 in a chunk that is not in use.
    pub(crate) const COMMITTED: usize = 0;
    /// The number of chunks of the buffer that were taken into use up to this one. It gives chunks their order.
    pub(crate) const SEQUENCE: usize = 8;
    /// The thread that took the chunk into use; 0 for the shared chunk.
    pub(crate) const THREAD: usize = 16;
    /// The end of the last record that a callback received.
    pub(crate) const DELIVERED: usize = 24;
}
