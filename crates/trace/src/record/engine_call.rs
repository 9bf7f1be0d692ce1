use opscope_clock::Ticks;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Correlation, ModelId, Record, RunId, ThreadId};
use crate::{Kind, Operation};

/// A call of an engine: 64 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct EngineCallRecord {
    /// The run that the call was for; 0 where it was for none.
    pub run: RunId,
    /// The model.
    pub model: ModelId,
    /// When the call began.
    pub start: Ticks,
    /// When it returned.
    pub end: Ticks,
    /// The work that it belongs to.
    pub correlation: Correlation,
    /// An [`EngineCallOperation`].
    pub operation: u32,
    /// The thread that called.
    pub thread: ThreadId,
    /// 0 where the call did what it should, 1 where it failed.
    pub failed: u32,
    /// Always 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<EngineCallRecord>() == 64);

/// Which call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
#[repr(u32)]
pub enum EngineCallOperation {
    Load = 0,
    Plan = 1,
    Upload = 2,
    Run = 3,
    Download = 4,
}

impl Record for EngineCallRecord {
    const KIND: Kind = Kind::EngineCall;

    fn operation(&self) -> Operation {
        Operation(self.operation)
    }
}
