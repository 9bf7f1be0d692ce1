use opscope_clock::Ticks;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Correlation, Kind, MemoryId, Operation, Record, ThreadId};

/// An allocation or a release of memory for a tensor: 64 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct AllocationRecord {
    /// When the call began.
    pub start: Ticks,
    /// When the call ended.
    pub end: Ticks,
    /// The address of the memory.
    pub address: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The work that it belongs to.
    pub correlation: Correlation,
    /// What happened: an [`AllocationOperation`].
    pub operation: u32,
    /// The thread that made the call.
    pub thread: ThreadId,
    /// The memory's device.
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
