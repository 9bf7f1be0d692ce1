use opscope_clock::Ticks;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Correlation, MemoryId, Record, ThreadId};
use crate::{Kind, Operation};

/// Memory for a tensor that was taken or given back: 64 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct AllocationRecord {
    /// When the call began.
    pub start: Ticks,
    /// When it ended.
    pub end: Ticks,
    /// The first address.
    pub address: u64,
    /// How much, in bytes.
    pub bytes: u64,
    /// The work that it belongs to.
    pub correlation: Correlation,
    /// An [`AllocationOperation`].
    pub operation: u32,
    /// The thread that asked for it.
    pub thread: ThreadId,
    /// Where the memory is.
    pub memory: MemoryId,
    /// Always 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<AllocationRecord>() == 64);

/// What happened to the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
#[repr(u32)]
pub enum AllocationOperation {
    Allocate = 0,
    Free = 1,
}

impl Record for AllocationRecord {
    const KIND: Kind = Kind::TensorAllocation;

    fn operation(&self) -> Operation {
        Operation(self.operation)
    }
}
