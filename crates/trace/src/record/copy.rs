use opscope_clock::Ticks;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Correlation, Kind, MemoryId, Operation, Record, ThreadId};

/// A copy of a tensor from one memory to another: 72 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CopyRecord {
    /// The run that the tensor belongs to.
    pub run: u64,
    /// When the copy began.
    pub start: Ticks,
    /// When the copy ended.
    pub end: Ticks,
    /// The number of bytes.
    pub bytes: u64,
    /// The work that it belongs to.
    pub correlation: Correlation,
    /// The number of tensors that were copied together.
    pub tensors: u32,
    /// The direction: a [`CopyOperation`].
    pub operation: u32,
    /// The thread that requested the copy.
    pub thread: ThreadId,
    /// The memory that was read.
    pub source: MemoryId,
    /// The memory that was written.
    pub destination: MemoryId,
    /// Always 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<CopyRecord>() == 72);

/// The direction of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
#[repr(u32)]
pub enum CopyOperation {
    HostToHost = 0,
    HostToDevice = 1,
    DeviceToHost = 2,
    DeviceToDevice = 3,
}

impl Record for CopyRecord {
    const KIND: Kind = Kind::TensorCopy;

    fn operation(&self) -> Operation {
        Operation(self.operation)
    }
}
