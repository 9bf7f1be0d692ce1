use opscope_clock::Ticks;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{CorrelationId, Record};
use crate::{Kind, Operation};

/// The last record with this correlation id has been emitted: 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct RetirementRecord {
    /// When that was.
    pub time: Ticks,
    /// The id, which will not be seen again.
    pub correlation: CorrelationId,
}

const _: () = assert!(size_of::<RetirementRecord>() == 16);

impl Record for RetirementRecord {
    const KIND: Kind = Kind::CorrelationRetirement;

    fn operation(&self) -> Operation {
        Operation(0)
    }
}
