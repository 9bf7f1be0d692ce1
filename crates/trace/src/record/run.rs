use opscope_clock::Ticks;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Correlation, ModelId, Record, RunId, ThreadId};
use crate::{Kind, Operation};

/// One inference, from the first byte that went to the engine to the last that came back: 96 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct RunRecord {
    /// The run.
    pub run: RunId,
    /// The model that ran.
    pub model: ModelId,
    /// When the inputs began to go to the engine.
    pub upload_start: Ticks,
    /// When they had arrived.
    pub upload_end: Ticks,
    /// When the inference began.
    pub start: Ticks,
    /// When it ended.
    pub end: Ticks,
    /// When the outputs began to come back.
    pub download_start: Ticks,
    /// When they had arrived.
    pub download_end: Ticks,
    /// The work that it belongs to.
    pub correlation: Correlation,
    /// 0: `warm_up`; 1: `measured`.
    pub operation: u32,
    /// The thread that called the engine.
    pub thread: ThreadId,
    /// 0 where the run came to its end, 1 where it failed.
    pub failed: u32,
    /// Always 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<RunRecord>() == 96);

impl RunRecord {
    /// The operation of runs that come before those that count.
    pub const WARM_UP: Operation = Operation(0);
    /// The operation of runs that count.
    pub const MEASURED: Operation = Operation(1);

    /// Whether it was a warm-up.
    pub fn is_warm_up(&self) -> bool {
        self.operation() == Self::WARM_UP
    }
}

impl Record for RunRecord {
    const KIND: Kind = Kind::Run;

    fn operation(&self) -> Operation {
        Operation(self.operation)
    }
}
