use opscope_clock::Ticks;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Correlation, KernelIndex, Kind, Operation, PlanId, Record, ThreadId};

/// One execution of one kernel: 64 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct DispatchRecord {
    /// The number of the run, which the program that starts the runs counts from 0.
    pub run: u64,
    /// The plan that ran.
    pub plan: PlanId,
    /// When the kernel began.
    pub start: Ticks,
    /// When the kernel ended.
    pub end: Ticks,
    /// The work that it belongs to.
    pub correlation: Correlation,
    /// The kernel, by its position in the plan.
    pub kernel: KernelIndex,
    /// Always 0: `complete`.
    pub operation: u32,
    /// The thread that started the kernel.
    pub thread: ThreadId,
    /// The device that the kernel ran on: 0 for the host.
    pub device: u32,
}

const _: () = assert!(size_of::<DispatchRecord>() == 64);

impl Record for DispatchRecord {
    const KIND: Kind = Kind::OperatorDispatch;

    fn operation(&self) -> Operation {
        Operation(self.operation)
    }
}
