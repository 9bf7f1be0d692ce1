use opscope_clock::Ticks;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Correlation, Kind, Operation, PlanId, Record, ThreadId};

/// One inference, from the upload of its inputs to the download of its outputs: 96 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct RunRecord {
    /// The number of the run, which the program that starts the runs counts from 0.
    pub run: u64,
    /// The plan that ran.
    pub plan: PlanId,
    /// When the upload of the inputs began.
    pub upload_start: Ticks,
    /// When the upload ended.
    pub upload_end: Ticks,
    /// When the inference began.
    pub start: Ticks,
    /// When the inference ended.
    pub end: Ticks,
    /// When the download of the outputs began.
    pub download_start: Ticks,
    /// When the download ended.
    pub download_end: Ticks,
    /// The work that it belongs to.
    pub correlation: Correlation,
    /// 0: `warm_up`; 1: `measured`.
    pub operation: u32,
    /// The thread that called the engine.
    pub thread: ThreadId,
    /// 0 if the run succeeded, 1 if it failed.
    pub failed: u32,
    /// Always 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<RunRecord>() == 96);

impl RunRecord {
    /// The operation of warm-up runs.
    pub const WARM_UP: Operation = Operation(0);
    /// The operation of measured runs.
    pub const MEASURED: Operation = Operation(1);
    /// The operation of runs without times of their dispatches, which show what taking those times costs.
    pub const UNTIMED: Operation = Operation(2);
}

impl Record for RunRecord {
    const KIND: Kind = Kind::Run;

    fn operation(&self) -> Operation {
        Operation(self.operation)
    }
}
