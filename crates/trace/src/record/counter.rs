use opscope_clock::Ticks;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Correlation, Record, ThreadId};
use crate::{Kind, NameId, Operation};

/// The value of something at a moment: 48 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CounterRecord {
    /// When it was read.
    pub time: Ticks,
    /// The value, in the unit that the counter's name says.
    pub value: f64,
    /// The work that it belongs to.
    pub correlation: Correlation,
    /// What was read, as [`crate::name_text`] gives it back.
    pub name: NameId,
    /// Always 0: `sample`.
    pub operation: u32,
    /// The thread that read it.
    pub thread: ThreadId,
    /// Always 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<CounterRecord>() == 48);

impl Record for CounterRecord {
    const KIND: Kind = Kind::Counter;

    fn operation(&self) -> Operation {
        Operation(self.operation)
    }
}
