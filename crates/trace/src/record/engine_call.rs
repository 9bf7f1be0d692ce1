use opscope_clock::Ticks;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Correlation, Kind, Operation, Record, ThreadId};

/// A call of an engine: 64 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct EngineCallRecord {
    /// The run that the call was for; 0 for `load` and `plan`.
    pub run: u64,
    /// Always 0.
    pub unused: u64,
    /// When the call began.
    pub start: Ticks,
    /// When it returned.
    pub end: Ticks,
    /// The work that it belongs to.
    pub correlation: Correlation,
    /// The call: an [`EngineCallOperation`].
    pub operation: u32,
    /// The thread that called.
    pub thread: ThreadId,
    /// 0 if the call succeeded, 1 if it failed.
    pub failed: u32,
    /// Always 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<EngineCallRecord>() == 64);

/// The call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
#[repr(u32)]
pub enum EngineCallOperation {
    Load = 0,
    Plan = 1,
    Upload = 2,
    Run = 3,
    Download = 4,
    /// Not a call: the engine's work, after a run, on a profile of its own that times are taken from.
    Profile = 5,
}

impl Record for EngineCallRecord {
    const KIND: Kind = Kind::EngineCall;

    fn operation(&self) -> Operation {
        Operation(self.operation)
    }
}
