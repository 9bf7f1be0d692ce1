use opscope_clock::Ticks;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Correlation, MemoryId, Record, RunId, ThreadId};
use crate::{Kind, Operation};

/// A tensor that went from one memory to another: 72 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CopyRecord {
    /// The run that needed it.
    pub run: RunId,
    /// When the copy began.
    pub start: Ticks,
    /// When it ended.
    pub end: Ticks,
    /// How much was copied, in bytes.
    pub bytes: u64,
    /// The work that it belongs to.
    pub correlation: Correlation,
    /// The number of the input or output.
    pub slot: u32,
    /// A [`CopyOperation`].
    pub operation: u32,
    /// The thread that asked for it.
    pub thread: ThreadId,
    /// Where the bytes came from.
    pub source: MemoryId,
    /// Where they went.
    pub destination: MemoryId,
    /// Always 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<CopyRecord>() == 72);

/// Which way a copy went.
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
