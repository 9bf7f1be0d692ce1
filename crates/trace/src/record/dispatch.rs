use opscope_clock::Ticks;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Correlation, KernelIndex, ModelId, Record, RunId, ThreadId};
use crate::{Kind, Operation};

/// One execution of one kernel: 64 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct DispatchRecord {
    /// The run that it was part of.
    pub run: RunId,
    /// The model that ran.
    pub model: ModelId,
    /// When the kernel began.
    pub start: Ticks,
    /// When it ended.
    pub end: Ticks,
    /// The work that it belongs to.
    pub correlation: Correlation,
    /// Which kernel, by its position in the plan.
    pub kernel: KernelIndex,
    /// Always 0: `complete`.
    pub operation: u32,
    /// The thread that started it.
    pub thread: ThreadId,
    /// Where it ran: 0 for the host.
    pub device: u32,
}

const _: () = assert!(size_of::<DispatchRecord>() == 64);

impl Record for DispatchRecord {
    const KIND: Kind = Kind::OperatorDispatch;

    fn operation(&self) -> Operation {
        Operation(self.operation)
    }
}
