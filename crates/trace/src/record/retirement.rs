use opscope_clock::Ticks;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{CorrelationId, Kind, Operation, Record};

/// The end of a correlation id: its last record has been emitted. 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct RetirementRecord {
    /// When the last record was emitted.
    pub time: Ticks,
    /// The id. No later record has it.
    pub correlation: CorrelationId,
}

const _: () = assert!(size_of::<RetirementRecord>() == 16);

impl Record for RetirementRecord {
    const KIND: Kind = Kind::CorrelationRetirement;

    fn operation(&self) -> Operation {
        Operation(0)
    }
}
